"""Methods that look label rows up in a table of clusters, in time linear in rows.

- `lookup`: the one loop. Used by bisecting, cumulative, ecc, greedy, kcc, kmeans, kmodes, qmi, sec, voting.
- `moving`: rows that move between clusters, and the sums that follow them. Used by no method directly, the loop.
- `models`: what the loop minimises. Used by bisecting, ecc, greedy, kcc, kmeans, kmodes, qmi, sec, voting.
- `mixture`: expectation-maximisation of a mixture of multinomials. Used by mixture.
- `climbing`: moves of rows that raise the ANMI. Used by greedy, and by `refine`.
- `median`: moves and merges that lower the number of disagreeing pairs. Used by correlation.
"""

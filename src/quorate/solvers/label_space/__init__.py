"""Methods that look label rows up in a table of clusters, in time linear in rows.

- `lookup`: the one loop of seeds, sweeps and restarts. Used by bisecting, cumulative, greedy, kmeans, voting.
- `sweep_on_card`: the loop over rows on a card. Used by no method directly, by `lookup`.
- `rules`: what the loop passes around. Used by cumulative, ecc, kcc, voting, by the other modules here.
- `models`: what the loop minimises. Used by bisecting, ecc, greedy, kcc, kmeans, kmodes, qmi, sec, voting.
- `restarts`: from the best run of the loop to a Consensus. Used by ecc, kcc, kmeans, kmodes, qmi, sec, voting.
- `mixture`: expectation-maximisation of a mixture of multinomials. Used by mixture.
- `climbing`: moves of rows that raise the ANMI. Used by greedy, and by `refine`.
- `median`: moves and merges that lower the number of disagreeing pairs. Used by correlation.
- `column_merging`: columns of votes merged with the least loss of information. Used by cumulative.
- `density`: mean co-association within clusters. Used by bisecting.
"""

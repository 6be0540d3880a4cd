"""The one door for data: any table of labels becomes a checked, coded, compressed Ensemble.

- `tables`: a table of labels as plain columns, from arrays, lists, mappings and data frames of any kind.
- `coding`: columns of any type as codes by first appearance, and the rule which values are missing.
- `ensemble`: `as_ensemble`, and the one place where an Ensemble is made; columns of ids or measurements are refused.
- `rows`: `compress` and `merge`: distinct rows with counts; members and rows selected; results carried to objects.
- `rows_on_card`: the same for labels on a card.
- `blocks`: one block of a table coded, the table of distinct rows that blocks join, and what their values mean.
- `ids`: ids of objects, of which no two may be equal, in many blocks, too; objects of several tables matched by them.
- `outside`: noise that stays noise, and objects without any label: refused, left out or kept.
- `joining`: `join`.
- `labelling`: one labelling coded, and paired with the label rows of an ensemble.
- `soft_members`: matrices of memberships as a SoftEnsemble.
- `outside`: objects that belong to no cluster, because members say so or because no member labels them.
- `typed_columns`, `mixed_columns`: columns of any kind, and how they become numbers among which distances make sense.
- `proof`: what compiled code relies on, proven: indices, starts, shapes, counts, sparse matrices.
"""

"""Label tables for hypothesis: ragged cluster numbers, ties, missing labels, no silent object or member."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

# the first call of a kernel compiles it
settings.register_profile("quorate", deadline=None)
settings.load_profile("quorate")


@st.composite
def label_tables(draw, max_objects=12, max_members=6, max_clusters=4, missing=True, min_objects=1):
    """(n, H) int64 arrays, -1 = missing; every row and every column knows at least one label."""
    n_objects = draw(st.integers(min_objects, max_objects))
    n_members = draw(st.integers(1, max_members))
    columns = []
    for _ in range(n_members):
        top = draw(st.integers(0, max_clusters - 1))
        low = -1 if missing and draw(st.booleans()) else 0
        columns.append(draw(st.lists(st.integers(low, top), min_size=n_objects, max_size=n_objects)))
    table = np.array(columns, dtype=np.int64).T
    table[table.max(axis=1) < 0, draw(st.integers(0, n_members - 1))] = 0
    table[draw(st.integers(0, n_objects - 1)), table.max(axis=0) < 0] = 0
    return np.ascontiguousarray(table)


def labellings(n_objects, max_clusters=4, missing=True):
    """Lists of n labels of which at least one is known."""
    label = st.integers(-1 if missing else 0, max_clusters - 1)
    return st.lists(label, min_size=n_objects, max_size=n_objects).filter(lambda labels: max(labels) >= 0)


@st.composite
def labelled_tables(draw, **options):
    """A table, a labelling of its objects, member weights, and counts of its rows."""
    table = draw(label_tables(**options))
    n_objects, n_members = table.shape
    labels = draw(labellings(n_objects))
    weights = draw(st.lists(st.sampled_from([0.25, 1.0, 2.0, 3.5]), min_size=n_members, max_size=n_members))
    counts = draw(st.lists(st.integers(1, 3), min_size=n_objects, max_size=n_objects))
    return table, labels, np.array(weights), np.array(counts)


@st.composite
def labelling_pairs(draw, max_objects=10):
    """Two labellings that share at least one labelled object."""
    n_objects = draw(st.integers(1, max_objects))
    first, second = (draw(labellings(n_objects)) for _ in range(2))
    shared = draw(st.integers(0, n_objects - 1))
    first[shared], second[shared] = max(first[shared], 0), max(second[shared], 0)
    return first, second

"""Figures of the smallest ensemble: one object of one member."""

from __future__ import annotations

from test_plot import drawn

from quorate import consensus, plot


def test_one_object_one_member() -> None:
    result = consensus([0], 1)
    assert drawn(plot.consensus_heatmap(result, [0]))[0].tolist() == [[1.0]]
    assert drawn(plot.membership_heatmap(result, [0]))[0].tolist() == [[0], [0]]
    assert [steps[0].tolist() for steps in drawn(plot.item_consensus(result, [0]))] == [[0.0], [0.0]]
    assert drawn(plot.densities(result, [0]))[0].tolist() == [[0.0]]
    assert drawn(plot.tracking([result]))[0].tolist() == [[0]]

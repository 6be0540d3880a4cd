"""The expectation step of a mixture of products of multinomials, computed with integers."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def expect(labels, offsets, counts, table, unit, bias, share_unit, start, stop, expected, mass, best, sure, height):
    """Compute the posteriors of rows start..stop-1 and add them to the expected counts.

    labels is (m, H); table (d, K) int64 holds log-probabilities in 1 / unit; bias (K,) is the logarithm of the shares
    of the components. expected (d, K) int64 and mass (K,) int64 are added to, in 1 / share_unit objects; the caller
    ensures that share_unit times the sum of all counts stays below 2^62. Written are best (m,) int32, the most probable
    component (the lowest in a tie), sure (m,), its posterior, and height (m,), the log-likelihood of one object of the
    row. All sums are sums of integers, so they depend neither on the order of the rows nor on the number of threads nor
    on whether equal rows are counted or repeated.
    """
    n_clusters = table.shape[1]
    total = np.zeros(n_clusters, dtype=np.int64)
    value = np.zeros(n_clusters)
    near = np.zeros(n_clusters, dtype=np.int64)
    for row in range(start, stop):
        total[:] = 0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                for cluster in range(n_clusters):
                    total[cluster] += table[place, cluster]
        top = 0
        for cluster in range(n_clusters):
            value[cluster] = bias[cluster] + total[cluster] / unit
            if value[cluster] > value[top]:
                top = cluster
        most, sum_of_shares, n_near = value[top], 0.0, 0
        for cluster in range(n_clusters):
            # The share of a component that is less probable than this would be rounded to zero.
            if value[cluster] - most > -30.0:
                near[n_near] = cluster
                value[cluster] = np.exp(value[cluster] - most)
                sum_of_shares += value[cluster]
                n_near += 1
        best[row] = top
        sure[row] = 1.0 / sum_of_shares
        height[row] = most + np.log(sum_of_shares)
        for place in range(n_near):
            cluster = near[place]
            share = counts[row] * np.int64(np.rint(value[cluster] / sum_of_shares * share_unit))
            mass[cluster] += share
            for member in range(labels.shape[1]):
                label = labels[row, member]
                if label >= 0:
                    expected[offsets[member] + label, cluster] += share

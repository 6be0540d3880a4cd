"""The CA-tree: splitting rows member by member, sizes and representatives bottom-up, descent of dropped nodes."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def split_leaves(labels, member, order, leaves, start, stop, parent, first_child, n_children, split, n_nodes):
    """Give every leaf whose rows carry several labels in `member` one child a label; return what is open after it.

    labels (m, H). Node z holds rows order[start[z]:stop[z]], in increasing order; its children, numbered from
    first_child[z] in order of their first row, share that range out. `leaves` lists leaves of several rows by
    increasing id. Written in place: order, and start, stop, parent, first_child, n_children, split from place
    n_nodes on (those of split leaves as well). Returns the new list of leaves and the new number of nodes.
    Invariant: ranges of leaves partition order; a missing label (-1) is a label of its own.
    """
    child = np.full(int(labels[:, member].max()) + 2, -1, dtype=np.int32)
    kept = np.empty(leaves.size, dtype=np.int32)
    fresh = np.empty(order.size, dtype=np.int32)
    moved = np.empty(order.size, dtype=order.dtype)
    n_kept = n_fresh = 0
    for leaf in leaves:
        low, high = start[leaf], stop[leaf]
        first = n_nodes
        for place in range(low, high):
            label = int(labels[order[place], member]) + 1
            if child[label] < 0:
                child[label] = n_nodes
                stop[n_nodes] = 0
                n_nodes += 1
            stop[child[label]] += 1
        if n_nodes == first + 1:
            child[int(labels[order[low], member]) + 1] = -1
            n_nodes = first
            kept[n_kept] = leaf
            n_kept += 1
            continue
        first_child[leaf], n_children[leaf], split[leaf] = first, n_nodes - first, member
        free = low
        for node in range(first, n_nodes):
            parent[node], first_child[node], n_children[node], split[node] = leaf, -1, 0, -1
            start[node] = free
            free += stop[node]
            stop[node] = start[node]
        for place in range(low, high):
            node = child[int(labels[order[place], member]) + 1]
            moved[stop[node]] = order[place]
            stop[node] += 1
        for place in range(low, high):
            child[int(labels[order[place], member]) + 1] = -1
        order[low:high] = moved[low:high]
        for node in range(first, n_nodes):
            if stop[node] - start[node] > 1:
                fresh[n_fresh] = node
                n_fresh += 1
    return np.concatenate((kept[:n_kept], fresh[:n_fresh])), n_nodes


@njit(cache=True, nogil=True)
def _distance(labels, row, other, weights):
    """Weight of the members in which two rows differ."""
    total = weights[0] * 0
    for member in range(labels.shape[1]):
        if labels[row, member] != labels[other, member]:
            total += weights[member]
    return total


@njit(cache=True, nogil=True)
def _gather(node, n_des, first_child, n_children, size, found):
    """Fill `found` with the descendants that stand for a node: children, the largest opened until there are n_des.

    Returns their number. Invariant: found[:n] is a partition of the node's rows.
    """
    n_found = n_children[node]
    for place in range(n_found):
        found[place] = first_child[node] + place
    while n_found < n_des:
        widest = -1
        for place in range(n_found):
            if n_children[found[place]] == 0:
                continue
            if widest < 0 or size[found[place]] > size[found[widest]]:
                widest = place
            elif size[found[place]] == size[found[widest]] and found[place] < found[widest]:
                widest = place
        if widest < 0:
            break
        opened = found[widest]
        found[widest] = first_child[opened]
        for child in range(1, n_children[opened]):
            found[n_found] = first_child[opened] + child
            n_found += 1
    return n_found


@njit(cache=True, nogil=True)
def _centre(labels, order, weights, limit, places, radii):
    """The place p with the least D = max over q of distance(p, q) + radii[q], at most `limit`; ties to the lowest row.

    labels (m, H) in tree order; order (m,) their row numbers. A candidate is given up as soon as it cannot win.
    """
    best, least = -1, limit
    for candidate in places:
        largest = weights[0] * 0
        beaten = False
        for other in range(places.size):
            distance = _distance(labels, candidate, places[other], weights) + radii[other]
            if distance > largest:
                largest = min(distance, limit)
                beaten = best >= 0 and (largest > least or (largest == least and order[candidate] > order[best]))
                if beaten:
                    break
        if not beaten and (best < 0 or largest < least or order[candidate] < order[best]):
            best, least = candidate, largest
    return best, least


@njit(cache=True, nogil=True)
def measure_nodes(
    labels, order, weights, limit, n_des, start, stop, first_child, n_children, nodes, low, high, size, place
):
    """Size and representative of inner nodes nodes[low:high], none of which is below another.

    labels (m, H) in tree order; weights (H,) in the type of size; place (N,): where in tree order the
    representative stands. size and place of all descendants are known; those of the given nodes are written.
    """
    # one more may be opened when n_des - 1 are there, and brings all its children
    room = min(n_des, order.size) + n_children.max()
    found = np.empty(room, dtype=np.int32)
    places = np.empty(room, dtype=np.int32)
    radii = np.empty(room, dtype=size.dtype)
    for inner in range(low, high):
        node = nodes[inner]
        n_found = stop[node] - start[node]
        if n_found <= n_des:
            places[:n_found] = np.arange(start[node], stop[node])
            radii[:n_found] = 0
        else:
            n_found = _gather(node, n_des, first_child, n_children, size, found)
            places[:n_found] = place[found[:n_found]]
            radii[:n_found] = size[found[:n_found]]
        place[node], size[node] = _centre(labels, order, weights, limit, places[:n_found], radii[:n_found])


@njit(cache=True, nogil=True)
def least_above(parent, size):
    """For each node the least size among its ancestors, infinity for the root; parents stand before children."""
    least = np.full(parent.size, np.inf)
    for node in range(1, parent.size):
        least[node] = min(least[parent[node]], size[parent[node]])
    return least


@njit(cache=True, nogil=True)
def mark_ancestors(parent, kept, marked):
    """marked (N,) int8, zeros, gets 2 at the kept nodes and 1 at their ancestors; no kept node is below another."""
    for node in kept:
        marked[node] = 2
    for node in range(parent.size - 1, 0, -1):
        if marked[node] > 0:
            marked[parent[node]] = 1


@njit(cache=True, nogil=True)
def descend(labels, weights, representative, first_child, n_children, marked, dropped, low, high, reached):
    """Where nodes dropped[low:high] end: from the root always to the most similar marked child, ties to the lowest id.

    labels (m, H); representative (N,) rows; marked (N,) int8: 2 for a kept node, 1 for an ancestor of one, else 0.
    reached (len(dropped),) is written: a kept node each.
    """
    for number in range(low, high):
        row = representative[dropped[number]]
        node = 0
        while marked[node] == 1:
            nearest, least = -1, weights[0] * 0
            for child in range(first_child[node], first_child[node] + n_children[node]):
                if marked[child] == 0:
                    continue
                distance = _distance(labels, row, representative[child], weights)
                if nearest < 0 or distance < least:
                    nearest, least = child, distance
            node = nearest
        reached[number] = node

"""Kernels of the CA-tree.

Rows are split member by member, sizes and representatives are measured from the leaves upwards, and nodes that were
dropped are assigned to kept ones by a descent from the root.
"""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def split_leaves(labels, member, order, leaves, start, stop, parent, first_child, n_children, split, n_nodes):
    """Split every leaf whose rows carry several labels in `member` into one child per label.

    labels is (m, H). Node z holds the rows order[start[z]:stop[z]], in increasing order. Its children are numbered from
    first_child[z] on, in order of their first row, and divide that range among them. `leaves` lists the leaves of more
    than one row by increasing number. These arrays are changed in place: `order`, and from position n_nodes on also
    start, stop, parent, first_child, n_children and split (the entries of the leaves that are split are written as
    well).

    Returns the list of leaves of more than one row after the split, and the new number of nodes. Invariant: the ranges
    of the leaves partition `order`. A missing label (-1) counts as a label of its own.
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
    """Return the total weight of the members in which two rows differ."""
    total = weights[0] * 0
    for member in range(labels.shape[1]):
        if labels[row, member] != labels[other, member]:
            total += weights[member]
    return total


@njit(cache=True, nogil=True)
def _gather(node, n_des, first_child, n_children, size, descendants):
    """Fill `descendants` with the nodes that represent a node in the search for its centre, and return their number.

    These are at first the children of the node. Then the largest of them is replaced by its own children until there
    are at least n_des nodes. Invariant: descendants[:n] partition the rows of the node.
    """
    n_gathered = n_children[node]
    for place in range(n_gathered):
        descendants[place] = first_child[node] + place
    while n_gathered < n_des:
        widest = -1
        for place in range(n_gathered):
            if n_children[descendants[place]] == 0:
                continue
            if widest < 0 or size[descendants[place]] > size[descendants[widest]]:
                widest = place
            elif size[descendants[place]] == size[descendants[widest]] and descendants[place] < descendants[widest]:
                widest = place
        if widest < 0:
            break
        opened = descendants[widest]
        descendants[widest] = first_child[opened]
        for child in range(1, n_children[opened]):
            descendants[n_gathered] = first_child[opened] + child
            n_gathered += 1
    return n_gathered


@njit(cache=True, nogil=True)
def _centre(labels, order, weights, limit, places, radii):
    """Return the place p with the smallest D = max over q of distance(p, q) + radii[q], and min(D, limit).

    Ties go to the lowest row. labels (m, H) are in tree order, and order (m,) holds their row numbers. A candidate is
    abandoned as soon as it cannot win any more.
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
    """Compute the size and the representative of the inner nodes nodes[low:high], none of which is below another.

    labels (m, H) are in tree order; weights (H,) have the type of `size`; place (N,) holds the position of each node's
    representative in tree order. The entries of `size` and `place` must already be known for all descendants; those of
    the given nodes are written.
    """
    # One more node may be opened when there are n_des - 1 nodes, and it adds all its children.
    room = min(n_des, order.size) + n_children.max()
    descendants = np.empty(room, dtype=np.int32)
    places = np.empty(room, dtype=np.int32)
    radii = np.empty(room, dtype=size.dtype)
    for inner in range(low, high):
        node = nodes[inner]
        n_gathered = stop[node] - start[node]
        if n_gathered <= n_des:
            places[:n_gathered] = np.arange(start[node], stop[node])
            radii[:n_gathered] = 0
        else:
            n_gathered = _gather(node, n_des, first_child, n_children, size, descendants)
            places[:n_gathered] = place[descendants[:n_gathered]]
            radii[:n_gathered] = size[descendants[:n_gathered]]
        place[node], size[node] = _centre(labels, order, weights, limit, places[:n_gathered], radii[:n_gathered])


@njit(cache=True, nogil=True)
def least_above(parent, size):
    """Return for each node the least size among its ancestors, infinity for the root.

    Parents come before their children.
    """
    least = np.full(parent.size, np.inf)
    for node in range(1, parent.size):
        least[node] = min(least[parent[node]], size[parent[node]])
    return least


@njit(cache=True, nogil=True)
def mark_ancestors(parent, kept, marked):
    """Set marked to 2 at the kept nodes and to 1 at their ancestors.

    marked is an (N,) int8 array of zeros. No kept node may be below another.
    """
    for node in kept:
        marked[node] = 2
    for node in range(parent.size - 1, 0, -1):
        if marked[node] > 0:
            marked[parent[node]] = 1


@njit(cache=True, nogil=True)
def descend(labels, weights, representative, first_child, n_children, marked, dropped, low, high, reached):
    """Find the kept node for each of dropped[low:high]: from the root, go on to the most similar marked child.

    Ties go to the child of the lowest number. Shapes: labels (m, H); representative (N,), a row for each node; marked
    (N,) int8, which is 2 for a kept node, 1 for an ancestor of a kept node and 0 otherwise. The kept nodes are written
    to reached, which is as long as dropped.
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

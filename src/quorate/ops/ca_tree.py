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
def _centre(labels, weights, limit, rows, radii):
    """Return the row p with the smallest D = max over the rows q of distance(p, q) + radii[q], and min(D, limit).

    Ties go to the lowest row. labels is (m, H). A candidate is abandoned as soon as it cannot win any more.
    """
    best, least = -1, limit
    for candidate in rows:
        largest = weights[0] * 0
        beaten = False
        for other in range(rows.size):
            distance = _distance(labels, candidate, rows[other], weights) + radii[other]
            if distance > largest:
                largest = min(distance, limit)
                beaten = best >= 0 and (largest > least or (largest == least and candidate > best))
                if beaten:
                    break
        if not beaten and (best < 0 or largest < least or candidate < best):
            best, least = candidate, largest
    return best, least


@njit(cache=True, nogil=True)
def measure_nodes(
    labels, order, weights, limit, n_des, start, stop, first_child, n_children, nodes, low, high, size, representative
):
    """Compute the size and the representative of the inner nodes nodes[low:high], none of which is below another.

    labels is (m, H); weights (H,) have the type of `size`; representative (N,) holds the row that represents each node.
    The entries of `size` and `representative` must already be known for all descendants; those of the given nodes are
    written.
    """
    # One more node may be opened when there are n_des - 1 nodes, and it adds all its children.
    room = min(n_des, order.size) + n_children.max()
    descendants = np.empty(room, dtype=np.int32)
    rows = np.empty(room, dtype=np.int32)
    radii = np.empty(room, dtype=size.dtype)
    for inner in range(low, high):
        node = nodes[inner]
        n_gathered = stop[node] - start[node]
        if n_gathered <= n_des:
            rows[:n_gathered] = order[start[node] : stop[node]]
            radii[:n_gathered] = 0
        else:
            n_gathered = _gather(node, n_des, first_child, n_children, size, descendants)
            rows[:n_gathered] = representative[descendants[:n_gathered]]
            radii[:n_gathered] = size[descendants[:n_gathered]]
        representative[node], size[node] = _centre(labels, weights, limit, rows[:n_gathered], radii[:n_gathered])


ABOVE_CUT, IN_CUT = 1, 2


@njit(cache=True, nogil=True)
def cut_nodes(parent, size, allowed):
    """Return where each node stands in the cut at a size, (N,) int8: above it, in it, or below (0).

    In the cut are the nodes of at most this size all of whose ancestors are larger. Parents come before their children.
    """
    stands = np.zeros(parent.size, dtype=np.int8)
    for node in range(parent.size):
        if node == 0 or stands[parent[node]] == ABOVE_CUT:
            stands[node] = ABOVE_CUT if size[node] > allowed else IN_CUT
    return stands


@njit(cache=True, nogil=True)
def join_rows(order, start, stop, cut, number, counts, owner, sums):
    """Write to owner (m,) the number of each row's node in the cut, and add its objects to sums (K,), by number.

    number is as long as cut; counts (m,) are the objects of the rows.
    """
    for place in range(cut.size):
        for row in order[start[cut[place]] : stop[cut[place]]]:
            owner[row] = number[place]
            sums[number[place]] += counts[row]


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


@njit(cache=True, nogil=True)
def find_rows(labels, candidates, order, start, first_child, n_children, split, found):
    """Write to found (u,) the row of labels (m, H) that equals each of candidates (u, H), or -1.

    A search goes down the tree by the labels of the candidate and compares one row at the end.
    """
    for number in range(len(candidates)):
        node, found[number] = 0, -1
        while node >= 0 and n_children[node] > 0:
            member, below = split[node], -1
            for child in range(first_child[node], first_child[node] + n_children[node]):
                if labels[order[start[child]], member] == candidates[number, member]:
                    below = child
                    break
            node = below
        if node >= 0:
            row = order[start[node]]
            same = True
            for member in range(labels.shape[1]):
                same = same and labels[row, member] == candidates[number, member]
            if same:
                found[number] = row


@njit(cache=True, nogil=True)
def _linked(room, order, start, parent, first_child, n_children, split):
    """Return a tree as links, with room for more nodes: above, head, following, at, row; see `hang_rows`."""
    above = np.full(room, -1, dtype=np.int32)
    head, following = above.copy(), above.copy()
    at, row = above.copy(), above.copy()
    for node in range(len(parent)):
        above[node], head[node], at[node], row[node] = parent[node], first_child[node], split[node], order[start[node]]
        for child in range(first_child[node], first_child[node] + n_children[node] - 1):
            following[child] = child + 1
    return above, head, following, at, row


@njit(cache=True, nogil=True)
def _where_it_hangs(labels, new, root, above, head, following, at, row):
    """Return the highest node whose rows all differ from a new row in one member first, and this member."""
    node = root
    while head[node] >= 0:
        child = head[node]
        while child >= 0 and labels[row[child], at[node]] != labels[new, at[node]]:
            child = following[child]
        if child < 0:
            break
        node = child
    member = 0
    while labels[row[node], member] == labels[new, member]:
        member += 1
    while above[node] >= 0 and at[above[node]] > member:
        node = above[node]
    return node, member


@njit(cache=True, nogil=True)
def _put_above(node, between, above, head, following):
    """Let a new node take the place of another one, which becomes its only child."""
    head[between], following[between], above[between] = node, following[node], above[node]
    parent = above[node]
    if parent >= 0 and head[parent] == node:
        head[parent] = between
    elif parent >= 0:
        child = head[parent]
        while following[child] != node:
            child = following[child]
        following[child] = between
    above[node], following[node] = between, -1


@njit(cache=True, nogil=True)
def hang_rows(labels, n_old, order, start, parent, first_child, n_children, split):
    """Hang the rows of labels (m, H) from n_old on into the tree of those before them, one after the other.

    All rows are distinct. Returns the root and four arrays for each node: its first child and its next sibling (-1 if
    there is none), the member at which it splits (-1 for a leaf) and its lowest row. The given nodes keep their
    numbers, and new ones follow. Siblings are in order of their lowest row. Invariant: below a node that splits at
    member j are all rows that agree with its lowest row in the members before j, and no others.
    """
    root, n_nodes = 0, len(parent)
    room = n_nodes + 2 * (len(labels) - n_old)
    above, head, following, at, row = _linked(room, order, start, parent, first_child, n_children, split)
    for new in range(n_old, len(labels)):
        node, member = _where_it_hangs(labels, new, root, above, head, following, at, row)
        if at[node] != member:
            # its rows now differ from another row in an earlier member than before: a node comes between
            _put_above(node, n_nodes, above, head, following)
            at[n_nodes], row[n_nodes] = member, row[node]
            root = n_nodes if above[n_nodes] < 0 else root
            node, n_nodes = n_nodes, n_nodes + 1
        child = head[node]
        while following[child] >= 0:
            child = following[child]
        following[child], above[n_nodes], row[n_nodes] = n_nodes, node, new
        n_nodes += 1
    return root, head[:n_nodes], following[:n_nodes], at[:n_nodes], row[:n_nodes]


@njit(cache=True, nogil=True)
def number_nodes(root, head, following, at, n_members):
    """Number the nodes of `hang_rows` as `split_leaves` does, member by member.

    Returns parent, first_child, n_children and split (N,), and for each node the number that it had. Invariant: the
    nodes that split at a member queue up in the order of their new numbers.
    """
    n_nodes = len(head)
    parent, source = np.full(n_nodes, -1, dtype=np.int32), np.full(n_nodes, root, dtype=np.int32)
    first_child, split, behind = parent.copy(), parent.copy(), parent.copy()
    n_children = np.zeros(n_nodes, dtype=np.int32)
    first, last = np.full(n_members, -1, dtype=np.int32), np.full(n_members, -1, dtype=np.int32)
    n_numbered = 1
    if at[root] >= 0:
        first[at[root]] = last[at[root]] = 0
    for member in range(n_members):
        node = first[member]
        while node >= 0:
            first_child[node], split[node] = n_numbered, member
            child = head[source[node]]
            while child >= 0:
                parent[n_numbered], source[n_numbered] = node, child
                later = at[child]
                if later >= 0 and first[later] < 0:
                    first[later] = last[later] = n_numbered
                elif later >= 0:
                    behind[last[later]] = n_numbered
                    last[later] = n_numbered
                n_numbered += 1
                child = following[child]
            n_children[node] = n_numbered - first_child[node]
            node = behind[node]
    return parent, first_child, n_children, split, source


@njit(cache=True, nogil=True)
def lay_out_rows(parent, first_child, n_children, lowest):
    """Return start and stop (N,), the ranges of the nodes in the order of rows, and that order.

    lowest (N,) is the lowest row of each node, which for a leaf is its only one. Parents come before their children,
    whose ranges follow one another within that of the parent.
    """
    n_nodes = len(parent)
    held = (n_children == 0).astype(np.int32)
    for node in range(n_nodes - 1, 0, -1):
        held[parent[node]] += held[node]
    start, order = np.zeros(n_nodes, dtype=np.int32), np.empty(held[0], dtype=np.int32)
    for node in range(n_nodes):
        free = start[node]
        order[free] = lowest[node]
        for child in range(first_child[node], first_child[node] + n_children[node]):
            start[child] = free
            free += held[child]
    return start, start + held, order

"""The commands on how clusters hang together: cut, resolutions, splits, divide and names."""

from __future__ import annotations

import argparse
from typing import Any

from quorate.cli.options import (
    add_command,
    add_force_option,
    add_labelling_options,
    add_null_option,
    add_orientation_option,
    add_safe_cells_option,
    add_seed_option,
    add_style_options,
    add_table_options,
    add_talk_options,
    formulas_of,
    integer,
    null_test,
    number,
    number_of_clusters,
    steps_of,
)
from quorate.cli.output import aligned, place_of, refuse_clashes, tell


def add_cut(commands: Any) -> None:
    """Add `quorate cut`."""
    parser = add_command(commands, "cut", run_cut, "cut the tree of a saved result at another number of clusters")
    parser.add_argument("result", help="result of `consensus --save`, by a method with a tree: eac, lwea or bisecting")
    parser.add_argument("-k", metavar="K", required=True, help="number of clusters")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write the labels to; - is standard output")
    add_safe_cells_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_cut(arguments: argparse.Namespace) -> None:
    """Read the result, cut its tree, write the labels and what speaks for each number of clusters."""
    refuse_clashes(arguments)
    n_clusters = integer(arguments.k, "-k")
    step = steps_of(arguments)
    with step("loading"):
        from quorate import load_consensus, recut, save_labels, splits
        from quorate._io import refuse_output
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    found = recut(load_consensus(arguments.result), n_clusters)
    if arguments.output is not None:
        formulas = formulas_of(arguments, arguments.output)
        save_labels(arguments.output, found, overwrite=arguments.force, formulas=formulas)
    above = splits(found, max(10, n_clusters))
    facts = {"method": found.method, "n_clusters": found.n_clusters, "sizes": found.sizes.tolist()}
    facts |= {"output": arguments.output, "splits": [split._asdict() for split in above]}
    lines = [f"{'clusters':>8}  {'split':>9}  {'into':>19}  {'gain':>8}  {'lifetime':>8}"]
    for split in above:
        into = f"{split.left:,} + {split.right:,}"
        values = ("" if value is None else f"{value:.4f}" for value in (split.gain, split.lifetime))
        lines.append(f"{split.n_clusters:>8}  {split.size:>9,}  {into:>19}  " + "  ".join(f"{v:>8}" for v in values))
    labels = {} if arguments.output is None else {"labels": place_of(arguments.output)}
    sizes = ", ".join(f"{cluster}: {size:,}" for cluster, size in enumerate(found.sizes.tolist()))
    head = aligned({"clusters": f"{found.n_clusters} by {found.method}", "sizes": sizes, **labels})
    tell(arguments, facts, head + "\n" + "\n".join(line.rstrip() for line in lines) + "\n")


def add_resolutions(commands: Any) -> None:
    """Add `quorate resolutions`."""
    parser = add_command(
        commands, "resolutions", run_resolutions, "say how stable clusterings are at each resolution, and what splits"
    )
    add_table_options(parser)
    add_orientation_option(parser)
    parser.add_argument(
        "--groups",
        metavar="HOW",
        help="which columns are runs at one resolution: clusters (equally many clusters), or a regular expression with "
        'one group such as "leiden_([0-9.]+)" (default: each column is a resolution)',
    )
    parser.add_argument("--tree", metavar="FILE", help=".csv file for the flows from each cluster to the next ones")
    parser.add_argument("--picture", metavar="FILE", help="file for the picture of the tree: .png, .svg or .pdf")
    add_force_option(parser)
    add_talk_options(parser)


def run_resolutions(arguments: argparse.Namespace) -> None:
    """Read the table, compare its resolutions, write the tree, the picture and the table."""
    refuse_clashes(arguments)
    step = steps_of(arguments)
    with step("loading"):
        from quorate import resolutions
        from quorate._io import refuse_output
        from quorate._io.save import save_rows
        from quorate.cli.work import read_labels, refuse_picture, write_picture
    if arguments.tree is not None:
        refuse_output(arguments.tree, arguments.force)
    if arguments.picture is not None:
        refuse_picture(arguments.picture, arguments.force)
    ensemble = read_labels(arguments, step)
    with step(f"comparing {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        found = resolutions(ensemble, arguments.groups)
    if arguments.tree is not None:
        formulas = formulas_of(arguments, arguments.tree)
        save_rows(arguments.tree, found.flows, overwrite=arguments.force, formulas=formulas)
    if arguments.picture is not None:
        write_picture(arguments.picture, found, arguments.force)
    tell(arguments, found.as_dict(), f"{found}\n")


def add_splits(commands: Any) -> None:
    """Add `quorate splits`."""
    parser = add_command(
        commands, "splits", run_splits, "test which splits of the tree of a consensus are real, and write the clusters"
    )
    add_table_options(parser)
    add_orientation_option(parser)
    parser.add_argument(
        "--features",
        metavar="FILE",
        help="table of the measurements that the clusterings were made from, with the same --id; splits are then "
        "compared with measurements without clusters (default: with permuted labels)",
    )
    parser.add_argument("--alpha", metavar="SHARE", default="0.05", help="family-wise error (default: %(default)s)")
    parser.add_argument(
        "--min-size", metavar="INT", default="10", help="least number of objects in a part (default: %(default)s)"
    )
    add_seed_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write the labels to; - is standard output")
    parser.add_argument("--picture", metavar="FILE", help="file for the picture of the tree: .png, .svg or .pdf")
    add_force_option(parser)
    add_talk_options(parser)


def run_splits(arguments: argparse.Namespace) -> None:
    """Read the tables, test the splits, write the labels, the picture and the table of splits."""
    refuse_clashes(arguments)
    alpha = number(arguments.alpha, "--alpha", wanted="a number from 0 to 1")
    least, seed = integer(arguments.min_size, "--min-size"), integer(arguments.seed, "--seed")
    step = steps_of(arguments)
    with step("loading"):
        from quorate import save_labels, significant_splits
        from quorate._io import refuse_output
        from quorate.cli.work import read_features_beside, read_labels, refuse_picture, write_picture
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    if arguments.picture is not None:
        refuse_picture(arguments.picture, arguments.force)
    ensemble = read_labels(arguments, step)
    features = None if arguments.features is None else read_features_beside(arguments, ensemble, step)
    with step("testing splits"):
        found = significant_splits(ensemble, features, alpha=alpha, min_size=least, random_state=seed)
    if arguments.output is not None:
        formulas = formulas_of(arguments, arguments.output)
        ids, name = found.object_ids, arguments.id
        save_labels(arguments.output, found.labels, ids=ids, id_name=name, overwrite=arguments.force, formulas=formulas)
    if arguments.picture is not None:
        write_picture(arguments.picture, found, arguments.force)
    tell(arguments, {**found.as_dict(), "output": arguments.output}, f"{found}\n")


def add_divide(commands: Any) -> None:
    """Add `quorate divide`."""
    parser = add_command(commands, "divide", run_divide, "divide one cluster of a labelling into sub-clusters")
    add_table_options(parser)
    add_labelling_options(parser)
    parser.add_argument(
        "--cluster", metavar="NAME", required=True, help="the cluster to divide, as the labelling has it"
    )
    parser.add_argument(
        "-k",
        metavar="K",
        help="number of sub-clusters, auto, or a range (default: as many as significant divisions make)",
    )
    parser.add_argument(
        "--features",
        metavar="FILE",
        help="table of the measurements that the clusterings were made from, with the same --id; divisions are then "
        "compared with measurements without clusters (default: with permuted labels)",
    )
    parser.add_argument("-m", "--method", default="auto", help="consensus function (default: %(default)s)")
    add_seed_option(parser)
    add_null_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write all labels to; - is standard output")
    add_style_options(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_divide(arguments: argparse.Namespace) -> None:
    """Read the table and the labelling, divide the cluster, write the labels of all objects and the verdict."""
    refuse_clashes(arguments)
    n_clusters, seed = number_of_clusters(arguments.k), integer(arguments.seed, "--seed")
    test = null_test(arguments, 0.0)
    step = steps_of(arguments)
    with step("loading"):
        from quorate import divide, save_labels
        from quorate._io import refuse_output
        from quorate.cli.work import read_features_beside, read_labels_and_labelling
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    ensemble, labelling, _ = read_labels_and_labelling(arguments, step)
    features = None if arguments.features is None else read_features_beside(arguments, ensemble, step)
    with step(f"dividing cluster {arguments.cluster}"):
        options = {"method": arguments.method, "random_state": seed, "null": test.null, "features": features}
        found = divide(labelling.named(), arguments.cluster, ensemble, n_clusters, **options)
    if arguments.output is not None:
        style = {"sep": arguments.out_sep, "decimal": arguments.decimal}
        formulas = formulas_of(arguments, arguments.output)
        save_labels(arguments.output, found.result, overwrite=arguments.force, formulas=formulas, **style)
    labels = {} if arguments.output is None else {"labels": place_of(arguments.output)}
    tell(arguments, {**found.as_dict(), "output": arguments.output}, f"{found}\n{aligned(labels)}")


def add_names(commands: Any) -> None:
    """Add `quorate names`."""
    parser = add_command(commands, "names", run_names, "name objects by the deepest ancestor that clusterings agree on")
    add_table_options(parser)
    parser.add_argument(
        "--parents", metavar="FILE", required=True, help=".csv file of the hierarchy: columns node and parent"
    )
    parser.add_argument("--clusters", metavar="FILE", help="file with a labelling, whose clusters are named, too")
    parser.add_argument(
        "--label", metavar="COLUMN", default="label", help="column of that file with the labels (default: %(default)s)"
    )
    parser.add_argument(
        "--share", metavar="SHARE", default="0.5", help="least share that agrees (default: %(default)s)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=".csv file to write the names to; - is standard output")
    add_force_option(parser)
    add_talk_options(parser)


def run_names(arguments: argparse.Namespace) -> None:
    """Read the table, the hierarchy and the labelling, name the objects and the clusters, write the names."""
    refuse_clashes(arguments)
    share = number(arguments.share, "--share", wanted="a number from 0 to 1")
    step = steps_of(arguments)
    with step("loading"):
        from quorate import agreed_names, load_labels
        from quorate._io import refuse_output
        from quorate.cli.work import read_clusters, read_parents, table_options, write_names
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    with step(f"reading {', '.join(arguments.labels)}"):
        ensemble = load_labels(arguments.labels, **table_options(arguments))
    parents = read_parents(arguments.parents, step)
    clusters = None if arguments.clusters is None else read_clusters(arguments, ensemble, step)
    found = agreed_names(ensemble, parents, clusters=clusters, share=share)
    if arguments.output is not None:
        write_names(arguments, ensemble, found)
    names_in = {} if arguments.output is None else {"names": place_of(arguments.output)}
    tell(arguments, {**found.as_dict(), "output": arguments.output}, f"{found}\n{aligned(names_in)}")

"""`quorate generate` and `quorate cluster`: from a table of measurements to an ensemble, or to one labelling."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from quorate import cli
from quorate._steps import is_watched, steps

if TYPE_CHECKING:
    from quorate import Ensemble
    from quorate._io.features import Measurements


def add_generate(commands: Any) -> None:
    """The two subcommands."""
    from quorate._cli_report import add_report_option

    parser = cli._add(commands, "generate", _generate, "many clusterings of a table of measurements")
    _add_features(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write the ensemble")
    cli._add_talk(parser)
    parser = cli._add(
        commands, "cluster", _cluster, "one labelling of a table of measurements: generate, then consensus"
    )
    _add_features(parser)
    parser.add_argument("-k", metavar="K", help="number of clusters wanted; some methods find it themselves")
    parser.add_argument("-m", "--method", default="auto", help="see quorate methods (%(default)s)")
    parser.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[], help="an option of the method; repeatable"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the labels; - for standard output")
    parser.add_argument("--ensemble", metavar="FILE", help="where to write the ensemble too")
    add_report_option(parser)
    cli._add_talk(parser)


def _add_features(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("features", help="table of numbers: one row an object (.csv, .parquet, .npy, .npz, .zarr)")
    parser.add_argument("--id", metavar="COLUMN", help="column that names the objects")
    parser.add_argument("--columns", metavar="A,B,C", help="columns that are measurements (all others by default)")
    parser.add_argument("--drop", metavar="A,B,C", help="columns to leave out")
    parser.add_argument("--scale", choices=("z",), help="z: every column to mean 0 and standard deviation 1")
    parser.add_argument("--members", metavar="N", default="20", help="number of clusterings (%(default)s)")
    parser.add_argument(
        "--k",
        dest="members_k",
        metavar="RULE",
        help="clusters of each clustering: 25, 10:40, sqrt, linear, linear:50:20, candel, candel:7, mixture",
    )
    parser.add_argument(
        "--base", metavar="NAME", default="auto", help="what clusters: auto, kmeans, spectral, ... (%(default)s)"
    )
    parser.add_argument(
        "--row-share", metavar="SHARE", default="1", help="of the objects a clustering sees (%(default)s)"
    )
    parser.add_argument("--column-share", metavar="SHARE", default="1", help="of the columns it sees (%(default)s)")
    parser.add_argument("--seed", metavar="INT", default="0", help="one seed, one answer (%(default)s)")
    parser.add_argument("--jobs", metavar="N", help="workers (all threads for the built-in k-means)")
    parser.add_argument("--checkpoint", metavar="DIR", help="folder for finished clusterings, to resume from")
    parser.add_argument("--force", action="store_true", help="replace an existing output file")


def _generate(arguments: argparse.Namespace) -> None:
    if arguments.json and arguments.output == "-":
        raise ValueError("--json and -o - both write to standard output; write the ensemble to a file")
    step = steps(arguments)
    with step("loading"):
        from quorate._io import refuse_output, save_ensemble
    refuse_output(arguments.output, arguments.force)
    start = time.perf_counter()
    ensemble = _made(arguments, step)
    seconds = time.perf_counter() - start
    with step(f"writing {arguments.output}"):
        save_ensemble(arguments.output, ensemble, overwrite=arguments.force)
    summary = {**_facts(ensemble), "seconds": round(seconds, 3), "output": arguments.output}
    if arguments.json:
        cli._write_json(summary)
    elif not arguments.quiet:
        _tell(summary, arguments.output)


def _facts(ensemble: Ensemble) -> dict[str, Any]:
    return {
        "n_objects": ensemble.n_objects,
        "n_members": ensemble.n_members,
        "base": ensemble.info["base"],
        "k": ensemble.info["k"],
        "n_clusters": ensemble.n_clusters.tolist(),
        "seed": ensemble.info["seed"],
        "members": list(ensemble.info["members"]),
    }


def _tell(summary: dict[str, Any], output: str) -> None:
    low, high = min(summary["n_clusters"]), max(summary["n_clusters"])
    lines = {
        "objects": f"{summary['n_objects']:,}",
        "clusterings": f"{summary['n_members']:,}",
        "base": summary["base"],
        "k": summary["k"],
        "clusters": f"{low:,} to {high:,}" if low != high else f"{low:,}",
        "seconds": f"{summary['seconds']:.2f}",
        "ensemble": "on standard output" if output == "-" else f"in {output}",
    }
    stream = sys.stderr if output == "-" else sys.stdout
    stream.write("".join(f"{name:<12} {value}\n" for name, value in lines.items()))


def _cluster(arguments: argparse.Namespace) -> None:
    if arguments.json and arguments.output == "-":
        raise ValueError("--json and -o - both write to standard output; write the labels to a file")
    k, seed = cli._integer(arguments.k, "-k"), cli._integer(arguments.seed, "--seed")
    options = cli._options(arguments.option)
    step = steps(arguments)
    with step("loading"):
        from quorate import consensus, evaluate
        from quorate._cli_report import refuse_report, write_report
        from quorate._io import refuse_output, save_ensemble, save_labels
    for output in filter(None, (arguments.output, arguments.ensemble)):
        refuse_output(output, arguments.force)
    refuse_report(arguments)
    start = time.perf_counter()
    ensemble = _made(arguments, step, k)
    with step(f"finding the consensus of {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        result = consensus(ensemble, k, method=arguments.method, random_state=seed, **options)
    seconds = time.perf_counter() - start
    with step("scoring"):
        scores = evaluate(result, ensemble)
    if arguments.output is not None:
        with step(f"writing {arguments.output}"):
            save_labels(arguments.output, result, overwrite=arguments.force)
    if arguments.ensemble is not None:
        with step(f"writing {arguments.ensemble}"):
            save_ensemble(arguments.ensemble, ensemble, overwrite=arguments.force)
    told = write_report(arguments, result, ensemble, seed, step)
    summary = {**cli._facts(result, ensemble, seconds), "seed": seed, **told}
    summary |= {"base": ensemble.info["base"], "k": ensemble.info["k"]}
    if not (arguments.json or arguments.quiet):
        stream = sys.stderr if arguments.output == "-" else sys.stdout
        stream.write(f"{'base':<12} {ensemble.info['base']}\n{'members':<12} {ensemble.info['k']}\n")
    cli._tell_consensus(arguments, {**summary, "output": arguments.output}, scores)


def _made(arguments: argparse.Namespace, step: Any, n_clusters: int | None = None) -> Ensemble:
    """The ensemble the options ask for; without --k it starts from the number of clusters wanted in the end."""
    from dataclasses import replace

    from quorate import generate
    from quorate._io.features import load_features
    from quorate.generation.plans import k_towards

    k = k_towards(_k(arguments.members_k), arguments.base, n_clusters)
    with step(f"reading {arguments.features}"):
        columns, drop = _names(arguments.columns), _names(arguments.drop) or []
        table = load_features(arguments.features, ids=arguments.id, columns=columns, drop=drop)
        values = table.values if arguments.scale is None else _standardised(table)
    ensemble = generate(
        values,
        cli._integer(arguments.members, "--members") or 0,
        k=k,
        base=arguments.base,
        rows=cli._numbers(arguments.row_share, "--row-share")[0],
        columns=cli._numbers(arguments.column_share, "--column-share")[0],
        random_state=cli._integer(arguments.seed, "--seed"),
        n_jobs=cli._integer(arguments.jobs, "--jobs"),
        progress=is_watched(arguments),
        checkpoint=arguments.checkpoint,
    )
    return ensemble if table.ids is None else replace(ensemble, object_ids=table.ids)


def _names(text: str | None) -> list[str] | None:
    import csv

    return None if text is None else next(csv.reader([text]))


def _k(text: str | None) -> Any:
    """25, 10:40, a rule, or a rule with its numbers."""
    if text is None:
        return None
    parts = [cli._value(part) for part in text.split(":")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _standardised(table: Measurements) -> Any:
    """Columns with mean 0 and standard deviation 1; a constant column becomes 0."""
    import numpy as np

    from quorate.generation.features import as_features

    features = as_features(table.values)
    if features.is_sparse:
        raise ValueError("--scale z would make the sparse table dense; scale it before, or leave it as it is")
    values = np.asarray(features.data)
    spread = values.std(axis=0, dtype=np.float64)
    scaled = (values - features.shift) / np.where(spread > 0, spread, 1.0)
    return scaled.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)

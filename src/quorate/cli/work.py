"""What commands do once options are read: labels and measurements loaded, ensembles made, a consensus found.

Phases, in the order of the functions: refuse output files that cannot be written, find the consensus and score it,
write the files, write the summary. Importing this module imports the library.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate import (
    Consensus,
    Ensemble,
    Scores,
    as_ensemble,
    consensus,
    load_labels,
    save_ensemble,
    save_labels,
)
from quorate._data.coding import DEFAULT, as_number
from quorate._data.ensemble import EmptyMemberError
from quorate._data.ids import ids_beside, places_among
from quorate._data.joining import join_ensembles
from quorate._data.labelling import Labelling as CodedLabelling
from quorate._data.proof import vary
from quorate._io import refuse_output, refuse_place, write_aside
from quorate._io.consensus_file import refuse_consensus_output, save_consensus
from quorate._io.load import (
    Labelling,
    Measurements,
    load_chosen,
    load_features,
    load_labelling,
    load_lone_labelling,
    load_typed,
    load_with_truth,
)
from quorate._io.opening import members_alone, short_names
from quorate._io.paths import share_read
from quorate._io.save import Column, id_column, named_column, write_table
from quorate._io.text import Choice
from quorate._progress import Step
from quorate._trust.agreement import (
    AFFORDABLE_SECONDS,
    beside_measurements,
    checked_draws,
    checked_permutations,
    evaluate_within,
)
from quorate._types import Reading, Solving
from quorate.cli.options import (
    Generating,
    ambiguity_threshold,
    formulas_of,
    id_of_file,
    names,
    null_test,
    reference_setting,
    refuse_two_inputs,
    weights,
)
from quorate.cli.output import consensus_facts, consensus_summary, printable, scores_facts, table_facts, tell

if TYPE_CHECKING:
    from quorate._consensus.update import Update
    from quorate._data.typed_columns import TypedTable
    from quorate._evaluation.hierarchy import AgreedNames
    from quorate._trust.resolutions import Resolutions
    from quorate._trust.split_tests import SplitTree
    from quorate.estimators.saved_model import FittedMembers
    from quorate.generation.plans import Request


def read_labels(arguments: argparse.Namespace, step: Step) -> Ensemble:
    """Return the table of labels, or several tables joined."""
    with step(f"reading {', '.join(arguments.labels)}", share_read):
        return load_labels(arguments.labels, orientation=arguments.orientation, **table_options(arguments))


def read_labels_and_truth(arguments: argparse.Namespace, step: Step) -> tuple[Ensemble, Any]:
    """Return the table of labels without the column of the true classes, and these."""
    if arguments.orientation == "members":
        raise ValueError("--truth names a column, and with --orientation members clusterings are rows; leave one out")
    with step(f"reading {', '.join(arguments.labels)}", share_read):
        ensemble, truth = load_with_truth(arguments.labels, arguments.truth, **table_options(arguments))
    if truth is None:
        raise ValueError(f"{', '.join(arguments.labels)} has no column {arguments.truth!r}")
    return ensemble, truth


def read_labels_and_labelling(arguments: argparse.Namespace, step: Step) -> tuple[Ensemble, Labelling, Any]:
    """Return the table, the labelling in the order of its objects, and the truth from either file, or None."""
    refuse_two_inputs([*arguments.labels, arguments.labelling])
    options = table_options(arguments)
    # an object without any label may be one that the labelling leaves outside
    options["skip_empty"] = options["skip_empty"] or "keep"
    with step(f"reading {', '.join(arguments.labels)}", share_read):
        ensemble, truth = load_with_truth(arguments.labels, arguments.truth, **options)
    with step(f"reading {arguments.labelling}"):
        labelling = load_labelling(
            arguments.labelling,
            ensemble,
            column=arguments.label,
            ids=id_of_file(arguments, arguments.labelling),
            truth=arguments.truth,
            sep=arguments.sep,
            formulas=formulas_of(arguments),
            encoding=arguments.encoding,
            ids_as=arguments.ids_as,
        )
    truth = labelling.truth if truth is None else truth
    if arguments.truth is not None and truth is None:
        tables = ", ".join(arguments.labels)
        raise ValueError(f"neither {tables} nor {arguments.labelling} has a column {arguments.truth!r}")
    return ensemble, labelling, truth


def read_lone_labelling(arguments: argparse.Namespace, path: str, step: Step) -> tuple[CodedLabelling, Any]:
    """Return the labelling in a file, and the column of confidence or None."""
    with step(f"reading {path}"):
        read, confidence = load_lone_labelling(
            path,
            column=arguments.label,
            ids=arguments.id,
            sep=arguments.sep,
            formulas=formulas_of(arguments),
            encoding=arguments.encoding,
        )
    return CodedLabelling(read.labels[:, 0].astype(np.int32), read.categories[0], read.object_ids), confidence


def write_updated(arguments: argparse.Namespace, found: Update) -> None:
    """Write the labels with lasting ids, those before, and the names of the objects if they have any."""
    named = {"was" if arguments.label == "before" else "before": found.before}
    named = {arguments.label: found.labels} | named
    columns = [named_column(name, values.tolist()) for name, values in named.items()]
    id_name = id_column(arguments.id, tuple(named))
    formulas = formulas_of(arguments, arguments.output)
    write_table(arguments.output, columns, found.object_ids, arguments.force, id_name, formulas=formulas)


def read_columns_beside(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> TypedTable:
    """Return the columns of --features, and the names of their objects if the table of labels has names."""
    with step(f"reading {arguments.features}"):
        table = load_typed(
            arguments.features,
            ids=id_of_file(arguments, arguments.features) if ensemble.object_ids is not None else None,
            columns=None,
            drop=[],
            sep=arguments.sep,
            formulas=formulas_of(arguments),
            encoding=arguments.encoding,
        )
    if table.object_ids is None or ensemble.object_ids is None:
        return table
    ids = ids_beside(ensemble.object_ids, table.object_ids, arguments.features, arguments.ids_as, most=0.5)
    return table._replace(object_ids=ids)


def read_parents(path: str, step: Step) -> dict[str, str | None]:
    """Return the hierarchy in a file with the columns node and parent; an empty parent makes a root."""
    with step(f"reading {path}"):
        read = load_chosen(path, lambda columns: _hierarchy_columns(columns, path), Reading(orientation="objects"))
    labels, (known,) = read.labels[:, 0], read.categories
    found = [None if code < 0 else str(known[code]) for code in labels.tolist()]
    assert read.object_ids is not None, "the column node was chosen as the ids"
    return dict(zip(map(str, read.object_ids.tolist()), found, strict=True))


def _hierarchy_columns(columns: tuple[str, ...], path: str) -> Choice:
    if not {"node", "parent"} <= set(columns):
        raise ValueError(f"{path} must have the columns node and parent, got {', '.join(columns[:10]) or 'no names'}")
    return Choice("node", ("parent",))


def read_clusters(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> Any:
    """Return the labelling of --clusters in the order of the objects of the table."""
    with step(f"reading {arguments.clusters}"):
        found = load_labelling(
            arguments.clusters,
            ensemble,
            column=arguments.label,
            ids=arguments.id,
            sep=arguments.sep,
            formulas=formulas_of(arguments),
            encoding=arguments.encoding,
            ids_as=arguments.ids_as,
        )
    return found.named()


def write_names(arguments: argparse.Namespace, ensemble: Ensemble, found: AgreedNames) -> None:
    """Write the name of each object, and the share that agrees with it."""
    columns = [named_column("name", found.names.tolist()), Column("share", np.round(found.shares, 6))]
    formulas = formulas_of(arguments, arguments.output)
    id_name = id_column(ensemble.id_name, ("name", "share"))
    write_table(arguments.output, columns, ensemble.object_ids, arguments.force, id_name, formulas=formulas)


def refuse_picture(path: str, force: bool) -> None:
    """Raise if the picture cannot be drawn, or must not be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--picture must end in .png, .svg or .pdf, got {path!r}")
    refuse_place(path, force)


def write_picture(path: str, found: Resolutions | SplitTree, force: bool) -> None:
    """Draw the tree of clusters over resolutions, or that of splits, into a file."""
    from quorate import SplitTree, plot

    figure: Any = (plot.split_tree(found) if isinstance(found, SplitTree) else plot.clustering_tree(found)).figure
    kind = Path(path).suffix.lower().removeprefix(".")
    write_aside(path, lambda file: figure.savefig(file, format=kind, dpi=120), overwrite=force)


def read_new_labels(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> Ensemble:
    """Return the tables of new objects, joined: the columns that are clusterings of the first table, and the ids."""
    paths = [arguments.new, *(arguments.more_new or [])]
    refuse_two_inputs([*paths, *arguments.labels, arguments.labelling])
    read = []
    for path in paths:
        with step(f"reading {path}"):
            read.append(_read_new(arguments, ensemble.member_names, path))
    if len(read) == 1:
        return read[0]
    return join_ensembles(read, short_names(paths), ids_as=arguments.ids_as, strangers=True)


def _read_new(arguments: argparse.Namespace, members: Sequence[str], path: str) -> Ensemble:
    try:
        return _load_new(arguments, members, path)
    except EmptyMemberError as error:
        if path == "-":
            raise
        # a clustering may well have no label for any of a few new objects, so that this is no error here
        return _load_new(arguments, members, path, frozenset(error.members))


def _load_new(
    arguments: argparse.Namespace, members: Sequence[str], path: str, empty: frozenset[str] = frozenset()
) -> Ensemble:
    """Read a file of new objects; a column is a member of the same name, or that of the file of the same name."""
    options, stem = table_options(arguments), Path(path).name.split(".")[0]
    known = [name for name in (*members, *(m.removeprefix(f"{stem}.") for m in members)) if name not in empty]

    def choose(columns: tuple[str, ...]) -> Choice:
        return members_alone(columns, known, id_of_file(arguments, path), path, ", ".join(arguments.labels))

    # all labels of a few new objects may well differ, so that they are not checked for columns of ids
    reading = Reading(
        options.get("missing", DEFAULT),
        check=False,
        orientation="objects",
        sep=options["sep"],
        encoding=options["encoding"],
        formulas=options["formulas"],
        noise=options.get("noise"),
        duplicates=options["duplicates"],
    )
    read = load_chosen(path, choose, reading)
    names = tuple(name if name in members else f"{stem}.{name}" for name in read.member_names)
    return vary(read, member_names=names)


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the table in the form in which `load_labels` takes them; others keep their defaults."""
    options: dict[str, Any] = {
        "ids": _table_ids(arguments),
        "ids_as": arguments.ids_as,
        "duplicates": arguments.duplicates,
        "sep": arguments.sep,
        "encoding": arguments.encoding,
        "skip_empty": "keep" if arguments.keep_empty else arguments.skip_empty,
        "check": not arguments.no_check,
        "formulas": formulas_of(arguments),
    }
    if arguments.drop is not None:
        options["drop"] = names(arguments.drop)
    if arguments.columns is not None:
        options["columns"] = names(arguments.columns)
    if arguments.missing is not None:
        options["missing"] = [DEFAULT, *(_label(text) for text in arguments.missing)]
    if arguments.noise is not None:
        options["noise"] = [_label(text) for text in arguments.noise]
    if arguments.weights is not None:
        options["weights"] = weights(arguments.weights, "--weights")
    return options


def _table_ids(arguments: argparse.Namespace) -> Any:
    """Return the column of ids of the tables of labels: one name, or one for each file."""
    if not getattr(arguments, "id_of", None):
        return arguments.id
    named = {path: id_of_file(arguments, path) for path in arguments.labels}
    return {path: column for path, column in named.items() if column is not None}


def _label(text: str) -> Any:
    """Return a number if the text is one, because columns of numbers are compared as numbers."""
    number = as_number(text)
    return text if number is None else number


LARGEST_SHARE = 5
"""The comparison with chance may take so many times as long as the consensus itself if nobody asked for it."""


class Outcome(NamedTuple):
    """A consensus, what it was made from, its scores, and the seconds it took."""

    result: Consensus
    ensemble: Ensemble
    scores: Scores
    seconds: float
    seed: int


def refuse_outputs(arguments: argparse.Namespace) -> None:
    """Raise if the labels or the report cannot be written, or an option is wrong, before any work is done."""
    ambiguity_threshold(arguments)
    checked_permutations(null_test(arguments, 0.0).null)
    if arguments.memberships and (arguments.output is None or arguments.no_confidence):
        missing = "leave out --no-confidence" if arguments.no_confidence else "add -o FILE"
        raise ValueError(f"--memberships writes a column for each cluster, made of the confidence: {missing}")
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    if arguments.save is not None:
        refuse_consensus_output(arguments.save, arguments.force)
    if arguments.report is not None:
        from quorate.reporting.writing import refuse_page

        refuse_page(arguments.report, arguments.force)


def find_consensus(
    arguments: argparse.Namespace,
    ensemble: Ensemble,
    n_clusters: Any,
    solving: Solving,
    step: Step,
    *,
    start: float | None = None,
    info: Mapping[str, Any] | None = None,
    features: Any = None,
    judges: Any = None,
) -> Outcome:
    """Find the consensus and score it.

    Parameters
    ----------
    arguments : Namespace
        Says whether to compare the agreement with chance.
    ensemble : Ensemble
    n_clusters : as for `quorate.consensus`
    solving : Solving
        How to find the consensus; see `solving_of`.
    step : callable
        Shows progress; see `steps`.
    start : float, optional
        The time, by `time.perf_counter`, from which the seconds are counted; now by default.
    info : mapping, optional
        Why the number of clusters was chosen, for the info of the result.
    features : array, optional
        The measurements that the clusterings were made from, if there are any.
    judges : array, optional
        Measurements that judge the clusterings.
    """
    start = time.perf_counter() if start is None else start
    with step(f"finding the consensus of {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        result = consensus(ensemble, n_clusters, features=judges, **solving.keywords())
    result = replace(result, info={**result.info, **(info or {})})
    if features is not None:
        result = _with_reference(arguments, result, ensemble, features, step)
    seconds = time.perf_counter() - start
    with step("scoring"):
        test = null_test(arguments, max(AFFORDABLE_SECONDS, LARGEST_SHARE * seconds))
        scores = evaluate_within(result, ensemble, test.seconds, null=test.null)
    return Outcome(result, ensemble, scores, seconds, solving.random_state)


def _with_reference(
    arguments: argparse.Namespace, result: Consensus, ensemble: Ensemble, features: Any, step: Step
) -> Consensus:
    """Compare the clusters with those of measurements without clusters, unless this is done or not wanted."""
    if "reference_test" in result.info:
        return result
    test = reference_test(arguments, result, ensemble, features, step)
    return result if test is None else replace(result, info={**result.info, "reference_test": test})


def reference_test(
    arguments: argparse.Namespace, labels: Any, ensemble: Ensemble, features: Any, step: Step
) -> dict[str, Any] | None:
    """Compare clusters with those of measurements without clusters, unless this is not wanted or cannot be done."""
    draws = checked_draws(reference_setting(arguments))
    if draws is None:
        return None
    with step("comparing with measurements without clusters"):
        found = beside_measurements(labels, ensemble, features, draws)
    return None if found is None else dict(found._asdict())


def write_results(
    arguments: argparse.Namespace, outcome: Outcome, step: Step, columns: TypedTable | None = None
) -> None:
    """Write the labels and the report, each if it is asked for; `columns` explain the clusters on its first page."""
    if arguments.output is not None:
        with step(f"writing {arguments.output}"):
            formulas = formulas_of(arguments, arguments.output)
            shares = outcome.result.memberships(outcome.ensemble) if arguments.memberships else None
            save_labels(
                arguments.output,
                outcome.result,
                memberships=shares,
                overwrite=arguments.force,
                formulas=formulas,
                method_confidence=arguments.method_confidence,
                sep=arguments.out_sep,
                decimal=arguments.decimal,
            )
    if arguments.save is not None:
        with step(f"writing {arguments.save}"):
            save_consensus(arguments.save, outcome.result, overwrite=arguments.force)
    if arguments.report is not None:
        with step(f"writing {arguments.report}"):
            from quorate import report

            report(
                outcome.result,
                outcome.ensemble,
                arguments.report,
                ambiguous=ambiguity_threshold(arguments),
                random_state=outcome.seed,
                command=shlex.join(arguments.command_line),
                overwrite=arguments.force,
                features=columns,
            )


def tell_outcome(arguments: argparse.Namespace, outcome: Outcome, *made: str) -> None:
    """Write the summary or the JSON object; of clusterings that were `made` these facts of their info are included."""
    facts = consensus_facts(outcome.result, outcome.ensemble, outcome.seconds) | table_facts(outcome.ensemble)
    facts |= {name: outcome.ensemble.info[name] for name in made}
    facts |= {"seed": outcome.seed, "output": arguments.output}
    below = ambiguity_threshold(arguments)
    if outcome.result.confidence is not None:
        facts["ambiguous"] = {"n": len(outcome.result.ambiguous(below)), "below": below}
    if arguments.report is not None:
        facts["report"] = arguments.report
    summary = consensus_summary(facts, outcome.scores)
    tell(arguments, {**facts, **scores_facts(outcome.scores)}, summary)


def refuse_ensemble_output(arguments: argparse.Namespace, path: str | None) -> None:
    """Raise if the ensemble cannot be written to `path`, before any work is done for it; None is no file."""
    if path is not None:
        refuse_output(path, arguments.force)


def make_ensemble(arguments: argparse.Namespace, table: Measurements, generating: Generating, step: Step) -> Ensemble:
    """Make the ensemble, which keeps the names of the objects."""
    from quorate import generate
    from quorate.generation.features import features_and_warning

    with step(f"making {generating.n_members} clusterings of {table.values.shape[0]:,} objects"):
        made = generate(features_and_warning(table.values, table.names), **generating._asdict())
    named = as_ensemble(made, ids=table.ids)
    return named if table.ids is None else vary(named, id_name=arguments.id)


def make_members(
    arguments: argparse.Namespace, table: Measurements, generating: Generating, step: Step
) -> tuple[Ensemble, FittedMembers | None]:
    """Make the ensemble and, for --model, what labels new objects."""
    if arguments.model_out is None:
        return make_ensemble(arguments, table, generating, step), None
    return make_with_models(arguments, table, generating, step)


def refuse_made(arguments: argparse.Namespace) -> None:
    """Raise if a file that `quorate cluster` is to write cannot be written."""
    refuse_model(arguments)
    refuse_outputs(arguments)
    refuse_ensemble_output(arguments, arguments.ensemble)


def write_made(
    arguments: argparse.Namespace, outcome: Outcome, fitted: FittedMembers | None, table: Measurements, step: Step
) -> None:
    """Write the files of `quorate cluster`: labels, report, model and members."""
    write_results(arguments, outcome, step, table.columns)
    if fitted is not None:
        write_model(arguments, fitted, outcome, step)
    write_ensemble(arguments, arguments.ensemble, outcome.ensemble, step)


def make_with_models(
    arguments: argparse.Namespace, table: Measurements, generating: Generating, step: Step
) -> tuple[Ensemble, FittedMembers]:
    """Make the same ensemble as `make_ensemble`, and keep what labels new objects as its members do."""
    from quorate.estimators.saved_model import FittedMembers
    from quorate.generation.features import features_and_warning
    from quorate.generation.generating import generate_with_models
    from quorate.generation.runner import Options

    with step(f"making {generating.n_members} clusterings of {table.values.shape[0]:,} objects"):
        features = features_and_warning(table.values, table.names)
        options = Options(generating.n_jobs, keep_models=True)
        made, models = generate_with_models(features, request_of(generating), generating.random_state, options)
    named = as_ensemble(made, ids=table.ids)
    fitted = FittedMembers(models, (features.shift, features.scale), features.n_columns, table)
    return named if table.ids is None else vary(named, id_name=arguments.id), fitted


def refuse_model(arguments: argparse.Namespace) -> None:
    """Raise if the model cannot be written, or its members could not label new objects."""
    if arguments.model_out is None:
        return
    if not arguments.model_out.lower().endswith(".npz"):
        raise ValueError(f"--model must end in .npz, got {arguments.model_out!r}")
    if arguments.checkpoint is not None:
        raise ValueError("--model needs members that are made in this run; leave --checkpoint out")
    if arguments.device not in (None, "cpu"):
        raise ValueError("--model needs members that are made on the processor; leave --device out")
    from quorate.generation.bases import AUTO, BUILT_IN

    if arguments.base not in (AUTO, *BUILT_IN):
        known = ", ".join(BUILT_IN)
        raise ValueError(f"--model needs members of {known}, which label new objects, got {arguments.base!r}")
    refuse_output(arguments.model_out, arguments.force)


def write_model(arguments: argparse.Namespace, fitted: FittedMembers, outcome: Outcome, step: Step) -> None:
    """Write the model that labels new objects."""
    from quorate.estimators.saved_model import model_of, save_model

    with step(f"writing {arguments.model_out}"):
        model = model_of(fitted, outcome.ensemble, outcome.result)
        save_model(arguments.model_out, model, overwrite=arguments.force)


def request_of(generating: Generating) -> Request:
    """Return what the clusterings are made of, without how they are made."""
    from quorate.generation.plans import Request

    return Request(generating.n_members, generating.k, generating.base, generating.rows, generating.columns)


def generating_towards(table: Any, generating: Generating, n_clusters: int | None) -> Generating:
    """Return how to make clusterings whose consensus is to have n_clusters clusters, unless --k and --base say it."""
    generating = generating_for(table, generating, n_clusters)
    return generating._replace(**request_of(generating).towards(n_clusters)._asdict())


def generating_for(table: Measurements, generating: Generating, n_clusters: int | None = None) -> Generating:
    """Return how to make clusterings of a table; one with categories has members of its own unless they are named."""
    if table.coding is None:
        return generating
    base, k = table.coding.members(generating.base, generating.k, n_clusters)
    return generating._replace(base=base, k=k)


def choose_number(
    arguments: argparse.Namespace, table: Any, n_clusters: Any, generating: Generating, solving: Solving, step: Step
) -> tuple[int | None, dict[str, Any]]:
    """Return the number of clusters, chosen unless it is given, and what the info of the result says about the choice.

    `table` has the measurements, or is a function that reads those of a sample of the objects.
    """
    from quorate._choose_k.explore import chooses_number, explore
    from quorate._trust.reference import judging
    from quorate.generation.features import as_features
    from quorate.generation.plans import entropy_of

    if not chooses_number(n_clusters, solving.method):
        return n_clusters, {}
    with step("choosing the number of clusters"):
        explored = explore(
            as_features(table()) if callable(table) else as_features(table.values, table.names),
            request_of(generating if callable(table) else generating_for(table, generating)),
            n_clusters,
            entropy=entropy_of(generating.random_state),
            solving=solving,
            n_jobs=generating.n_jobs,
            judge=judging(checked_draws(reference_setting(arguments))),
        )
    return explored.choice.n_clusters, explored.info()


def read_measurements(arguments: argparse.Namespace, step: Step) -> Measurements:
    """Return the table of measurements, scaled if --scale is given, or of columns of any kind with --mixed."""
    if arguments.mixed:
        return _mixed_measurements(arguments, step)
    with step(f"reading {arguments.features}", share_read):
        table = load_features(
            arguments.features,
            ids=arguments.id,
            columns=None if arguments.columns is None else names(arguments.columns),
            drop=[] if arguments.drop is None else names(arguments.drop),
            sep=arguments.sep,
            encoding=arguments.encoding,
        )
        return table if arguments.scale is None else _scaled(table)


def read_features_beside(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> Any:
    """Return the measurements of --features in the order of the objects: by their ids with --id, as they come without.

    Each column is standardised with --scale z, if the command has that option. Further objects are left out.
    """
    with step(f"reading {arguments.features}", share_read):
        table = load_features(arguments.features, ids=arguments.id, sep=arguments.sep, encoding=arguments.encoding)
        values = (table if getattr(arguments, "scale", None) is None else _scaled(table)).values
    if table.ids is None or ensemble.object_ids is None:
        return values
    ids = ids_beside(ensemble.object_ids, table.ids, arguments.features, arguments.ids_as)
    rows = places_among(ensemble.object_ids, ids)
    return values.take(rows) if hasattr(values, "to_pandas") else values[rows]


def tested_splits(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> Any:
    """Return which splits of the tree of the clusterings are real, by the measurements of --features if it is given."""
    from quorate import significant_splits

    measured = None if arguments.features is None else read_features_beside(arguments, ensemble, step)
    with step("testing splits"):
        return significant_splits(ensemble, measured)


def read_for_model(arguments: argparse.Namespace, model: Any, step: Step) -> tuple[Any, Any]:
    """Return the columns that a model was made from, and the names of the objects."""
    wanted = getattr(model, "feature_names_in_", None)
    options = {"ids": arguments.id, "sep": arguments.sep, "encoding": arguments.encoding}
    with step(f"reading {arguments.features}"):
        if model.columns == "auto":
            kinds = model.columns_.kinds
            table = load_typed(arguments.features, **options, formulas=formulas_of(arguments), kinds=kinds)
            return table, table.object_ids
        read = load_features(arguments.features, columns=None if wanted is None else list(wanted), **options)
    width = read.values.shape[1]
    if width != model.n_features_in_:
        raise ValueError(
            f"{arguments.features} has {width} columns, and the model was made from {model.n_features_in_}"
        )
    if wanted is None or read.names is None:
        return read.values, read.ids
    import pandas

    return pandas.DataFrame(np.asarray(read.values), columns=list(wanted)), read.ids


def _mixed_measurements(arguments: argparse.Namespace, step: Step) -> Measurements:
    """Return columns of any kind as numbers, and say in one line how they became numbers."""
    from quorate._data.mixed_columns import mixed_columns

    if arguments.scale is not None:
        raise ValueError("--scale must be left out with --mixed, which scales each column by itself")
    with step(f"reading {arguments.features}"):
        table = load_typed(
            arguments.features,
            ids=arguments.id,
            columns=None if arguments.columns is None else names(arguments.columns),
            drop=[] if arguments.drop is None else names(arguments.drop),
            sep=arguments.sep,
            formulas=formulas_of(arguments),
            encoding=arguments.encoding,
        )
        coding = mixed_columns(table)
    if not arguments.quiet:
        sys.stderr.write(printable(f"quorate: {coding}\n"))
    return Measurements(coding.encoded(table), coding.names, table.object_ids, coding, columns=table)


def _scaled(table: Measurements) -> Measurements:
    """Scale columns to mean 0 and standard deviation 1; a constant column becomes 0."""
    from quorate.generation.features import as_features, standardised

    features = as_features(table.values, table.names)
    if features.is_sparse:
        raise ValueError("--scale z would make the sparse table dense; scale it before, or leave it as it is")
    scaled, standard = standardised(features)
    return table._replace(values=scaled.data, standard=standard)


def write_ensemble(arguments: argparse.Namespace, path: str | None, ensemble: Ensemble, step: Step) -> None:
    """Write the ensemble if a file is asked for."""
    if path is not None:
        with step(f"writing {path}"):
            save_ensemble(path, ensemble, overwrite=arguments.force, formulas=formulas_of(arguments, path))

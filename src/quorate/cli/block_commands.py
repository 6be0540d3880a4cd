"""Commands on tables and measurements in blocks: folders and patterns of files, larger than memory.

A command works in blocks if a table is a folder or a pattern, if --memory is given, or if the output is a folder.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from quorate import Scores, stream
from quorate._consensus.confidence import scale_of
from quorate._consensus.place import places_of
from quorate._data.coding import DEFAULT
from quorate._data.labelling import code_beside, pair_rows
from quorate._data.rows import compress
from quorate._io.opening import Columns
from quorate._progress import Step
from quorate._stream.block_places import BlockPlacement, place_source
from quorate._stream.block_scores import LabelledTable, read_labelled, score_labelled, score_result
from quorate._stream.labels_out import refuse_out
from quorate._stream.measurements import MeasuredTable, sample_blocks
from quorate._stream.running import temporary_store
from quorate._trust.agreement import AFFORDABLE_SECONDS, checked_permutations
from quorate._types import MAX_BYTES, Reading, Solving
from quorate.cli.options import Generating, NullTest, ambiguity_threshold, names, null_test
from quorate.cli.output import (
    consensus_facts,
    consensus_summary,
    ensemble_facts,
    ensemble_summary,
    scores_facts,
    table_facts,
    tell,
)
from quorate.cli.work import LARGEST_SHARE, choose_number, table_options
from quorate.generation.plans import entropy_of

_ARENA_MAX = -8
"""The number of this setting in glibc's malloc.h."""
_ARENAS = 2


def share_arenas() -> bool:
    """Let all threads take memory from two arenas of the C library, and return whether that could be set.

    By default glibc has up to eight arenas for each core, and keeps in each what its threads have freed. Spectral
    members that are trained in threads then keep hundreds of megabytes that nobody uses. Other C libraries have no
    such setting. It holds for the whole process, so that only commands of the shell tool do this.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS))
    return False


def _table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the table; those of tables that are joined by ids, or written as text, are left out."""
    if getattr(arguments, "out_sep", None) is not None or getattr(arguments, "decimal", None) is not None:
        raise ValueError("--out-sep and --decimal do not go together with tables in blocks; leave them out")
    return {
        name: value
        for name, value in table_options(arguments).items()
        if name not in ("formulas", "ids_as", "duplicates")
    }


def consensus_in_blocks(arguments: argparse.Namespace, n_clusters: Any, solving: Solving, step: Step) -> None:
    """Read a table in blocks, find the consensus, write the labels and the summary."""
    checked_permutations(null_test(arguments, AFFORDABLE_SECONDS).null)
    below = ambiguity_threshold(arguments)
    if solving.device == "cuda":
        raise ValueError("--device cuda does not go together with tables in blocks; leave it out")
    if arguments.output is not None:
        refuse_out(arguments.output, arguments.force)
    start = time.perf_counter()
    with step(f"finding the consensus of {', '.join(arguments.labels)} in blocks"):
        result = stream.consensus(
            arguments.labels,
            n_clusters,
            out=arguments.output,
            memory=arguments.memory,
            overwrite=arguments.force,
            **_table_options(arguments),
            **_keywords(arguments, solving),
        )
    seconds = time.perf_counter() - start
    scores = _score(arguments, result, seconds, step)
    facts = block_facts(result, seconds, below)
    facts |= {"seed": solving.random_state, "output": arguments.output}
    tell_scored(arguments, facts, scores)


def _keywords(arguments: argparse.Namespace, solving: Solving) -> dict[str, Any]:
    """Return options as `quorate.stream` takes them; without --max-bytes the method keeps to --memory."""
    is_default = getattr(arguments, "max_bytes", None) is None and solving.max_bytes == MAX_BYTES
    return solving.keywords("device", "start", *(["max_bytes"] if is_default else []))


def _score(arguments: argparse.Namespace, result: stream.BlockConsensus, seconds: float, step: Step) -> Scores:
    """Score a consensus in blocks that took some seconds."""
    with step("scoring"):
        test = null_test(arguments, max(AFFORDABLE_SECONDS, LARGEST_SHARE * seconds))
        return score_result(result, test.seconds, null=test.null)


def block_facts(result: stream.BlockConsensus, seconds: float, below: float) -> dict[str, Any]:
    """Return the facts about a consensus in blocks."""
    confidence, counts = result.solution.confidence, result.ensemble.counts
    ambiguous = 0 if confidence is None else int(counts[confidence < below].sum())
    facts = consensus_facts(result.solution, result.ensemble, seconds) | table_facts(result.ensemble)
    facts |= {"n_objects": result.n_objects, "sizes": result.sizes.tolist(), "n_blocks": result.n_blocks}
    facts |= {"memory": result.solution.info["memory"], "ambiguous": {"n": ambiguous, "below": below}}
    if result.n_skipped:
        facts["skipped"] = {"n": result.n_skipped, "first": []}
    return facts


def tell_scored(arguments: argparse.Namespace, facts: dict[str, Any], scores: Scores) -> None:
    """Write the summary of a consensus in blocks, or the JSON object."""
    tell(arguments, {**facts, **scores_facts(scores)}, consensus_summary(facts, scores))


def read_for_scores(arguments: argparse.Namespace, store: Any, step: Step) -> LabelledTable:
    """Read a table and a labelling of it in blocks."""
    options = _table_options(arguments)
    for option in ("skip_empty", "keep_empty", "noise"):
        if getattr(arguments, option, None):
            advice = "; --missing reads such labels as missing" if option == "noise" else ""
            raise ValueError(
                f"--{option.replace('_', '-')} does not go together with a labelling that is read in blocks{advice}"
            )
    wanted = Columns(options["ids"], options.get("columns"), tuple(options.get("drop", ())))
    reading = Reading(
        options.get("missing", DEFAULT), options.get("weights"), False, options["check"], "columns" in options
    )
    with step(f"reading {', '.join(arguments.labels)} and {arguments.labelling} in blocks"):
        return read_labelled(
            arguments.labels,
            arguments.labelling,
            wanted,
            reading,
            store,
            label=arguments.label,
            truth=arguments.truth,
            sep=arguments.sep,
            encoding=arguments.encoding,
            memory=arguments.memory,
        )


def score_in_blocks(arguments: argparse.Namespace, test: NullTest, step: Step) -> tuple[Scores, LabelledTable]:
    """Score a labelling of a table in blocks."""
    with temporary_store() as store:
        read = read_for_scores(arguments, store, step)
        with step("scoring"):
            return score_labelled(read, test.seconds, null=test.null), read


def place_in_blocks(arguments: argparse.Namespace, step: Step) -> tuple[BlockPlacement, LabelledTable]:
    """Place new objects in blocks and write their labels."""
    refuse_out(arguments.output, arguments.force)
    with temporary_store() as store:
        read = read_for_scores(arguments, store, step)
    labelling = code_beside(read.labels, "labels", read.ensemble)
    called = labelling.categories.tolist()
    names = None if called == list(range(len(called))) else tuple(map(str, called))
    pairs = pair_rows(read.ensemble, labelling.codes, labelling.n_clusters)
    options = _table_options(arguments)
    with step(f"placing the objects of {arguments.new}"):
        placed = place_source(
            places_of(pairs, compress(read.ensemble)[0], scale_of(None, pairs)),
            arguments.new,
            names,
            out=arguments.output,
            ids=options["ids"],
            missing=options.get("missing", DEFAULT),
            sep=options["sep"],
            encoding=options["encoding"],
            memory=arguments.memory,
            overwrite=arguments.force,
            label=arguments.label,
        )
    return placed, read


def generate_in_blocks(arguments: argparse.Namespace, generating: Generating, step: Step) -> None:
    """Make clusterings of measurements in blocks, write them and the summary."""
    share_arenas()
    reading = _reading(arguments, generating)
    start = time.perf_counter()
    with step(f"clustering {arguments.features} in blocks"):
        made = stream.generate(
            arguments.features, generating.n_members, k=generating.k, out=arguments.output, **reading
        )
    facts = {**ensemble_facts(made.ensemble, time.perf_counter() - start), "output": arguments.output}
    tell(arguments, facts, ensemble_summary(facts))


def cluster_in_blocks(
    arguments: argparse.Namespace, given: Any, generating: Generating, solving: Solving, step: Step
) -> None:
    """Cluster measurements in blocks, find the consensus, write the labels and the summary."""
    if arguments.ensemble is not None:
        raise ValueError("--ensemble does not go together with blocks; write the clusterings by quorate generate")
    share_arenas()
    reading = _reading(arguments, generating)
    below = ambiguity_threshold(arguments)
    start = time.perf_counter()

    def sample() -> Any:
        columns = MeasuredTable(*(reading[name] for name in ("ids", "features", "drop", "sep", "encoding")))
        return sample_blocks(arguments.features, entropy_of(solving.random_state), columns, arguments.memory)

    n_clusters, info = choose_number(arguments, sample, given, generating, solving, step)
    with step(f"clustering {arguments.features} in blocks"):
        result = stream.cluster(
            arguments.features,
            n_clusters,
            out=arguments.output,
            n_members=generating.n_members,
            k=generating.k,
            **reading,
            **{name: value for name, value in _keywords(arguments, solving).items() if name != "random_state"},
        )
    result = replace(result, solution=replace(result.solution, info={**result.solution.info, **info}))
    seconds = time.perf_counter() - start
    scores = _score(arguments, result, seconds, step)
    made = result.ensemble.info
    facts = {**block_facts(result, seconds, below), "base": made["base"], "k": made["k"]}
    tell_scored(arguments, {**facts, "seed": solving.random_state, "output": arguments.output}, scores)


def _reading(arguments: argparse.Namespace, generating: Generating) -> dict[str, Any]:
    """Return the options that both functions take; options that need all measurements at once are refused."""
    for option, given in (
        ("--mixed", arguments.mixed),
        ("--scale", arguments.scale is not None),
        ("--row-share", generating.rows != 1),
        ("--checkpoint", generating.checkpoint is not None),
        ("--jobs", generating.n_jobs is not None),
        ("--device", generating.device not in (None, "auto", "cpu")),
    ):
        if given:
            raise ValueError(f"{option} does not go together with measurements in blocks; leave it out")
    if arguments.output is not None:
        refuse_out(arguments.output, arguments.force)
    return {
        "base": generating.base,
        "columns": generating.columns,
        "random_state": generating.random_state,
        "ids": arguments.id,
        "features": None if arguments.columns is None else names(arguments.columns),
        "drop": [] if arguments.drop is None else names(arguments.drop),
        "sep": arguments.sep,
        "encoding": arguments.encoding,
        "memory": arguments.memory,
        "overwrite": arguments.force,
    }

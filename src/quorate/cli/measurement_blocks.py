"""`quorate generate` and `quorate cluster` on measurements in blocks. Importing this module imports the library."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from quorate import stream
from quorate._blocks.evaluation import score_result
from quorate._blocks.labels_out import refuse_out
from quorate._evaluation.repetition import AFFORDABLE_SECONDS
from quorate.cli.arenas import share_arenas
from quorate.cli.blocks_run import block_facts, tell_scored
from quorate.cli.consensus_run import LARGEST_SHARE
from quorate.cli.generate_run import choose_number
from quorate.cli.options import ambiguity_threshold, null_settings
from quorate.cli.output import ensemble_facts, ensemble_summary, tell
from quorate.cli.progress import Step
from quorate.cli.values import names
from quorate.generation.in_blocks import sample_blocks
from quorate.generation.plans import entropy_of


def generate_in_blocks(arguments: argparse.Namespace, settings: dict[str, Any], step: Step) -> None:
    """Make clusterings of measurements in blocks, write them and the summary."""
    share_arenas()
    reading = _reading(arguments, settings)
    start = time.perf_counter()
    with step(f"clustering {arguments.features} in blocks"):
        made = stream.generate(
            arguments.features, settings["n_members"], k=settings["k"], out=arguments.output, **reading
        )
    facts = {**ensemble_facts(made.ensemble, time.perf_counter() - start), "output": arguments.output}
    tell(arguments, facts, ensemble_summary(facts))


def cluster_in_blocks(
    arguments: argparse.Namespace, generating: dict[str, Any], settings: dict[str, Any], step: Step
) -> None:
    """Cluster measurements in blocks, find the consensus, write the labels and the summary."""
    if arguments.ensemble is not None:
        raise ValueError("--ensemble does not go together with blocks; write the clusterings by quorate generate")
    share_arenas()
    reading = _reading(arguments, generating)
    below = ambiguity_threshold(arguments)
    start = time.perf_counter()

    def sample() -> Any:
        columns = (reading["ids"], reading["features"], reading["drop"], reading["sep"])
        return sample_blocks(arguments.features, entropy_of(settings["random_state"]), columns, arguments.memory)

    number, told = choose_number(arguments, sample, generating, settings, step)
    with step(f"clustering {arguments.features} in blocks"):
        result = stream.cluster(
            arguments.features,
            out=arguments.output,
            n_members=generating["n_members"],
            k=generating["k"],
            **reading,
            **{**{name: value for name, value in settings.items() if name != "random_state"}, "n_clusters": number},
        )
    result = replace(result, solution=replace(result.solution, info={**result.solution.info, **told}))
    seconds = time.perf_counter() - start
    with step("scoring"):
        how = null_settings(arguments, max(AFFORDABLE_SECONDS, LARGEST_SHARE * seconds))
        scores = score_result(result, how["seconds"], null=how["null"])
    made = result.ensemble.info
    facts = {**block_facts(result, seconds, below), "base": made["base"], "k": made["k"]}
    tell_scored(arguments, {**facts, "seed": settings["random_state"], "output": arguments.output}, scores)


def _reading(arguments: argparse.Namespace, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the options that both functions take; options that need all measurements at once are refused."""
    for option, given in (
        ("--scale", arguments.scale is not None),
        ("--row-share", settings["rows"] != 1),
        ("--checkpoint", settings["checkpoint"] is not None),
        ("--jobs", settings["n_jobs"] is not None),
        ("--device", settings["device"] not in (None, "auto", "cpu")),
    ):
        if given:
            raise ValueError(f"{option} does not go together with measurements in blocks; leave it out")
    if arguments.output is not None:
        refuse_out(Path(os.path.abspath(arguments.output)), arguments.force)
    return {
        "base": settings["base"],
        "columns": settings["columns"],
        "random_state": settings["random_state"],
        "ids": arguments.id,
        "features": None if arguments.columns is None else names(arguments.columns),
        "drop": [] if arguments.drop is None else names(arguments.drop),
        "sep": arguments.sep,
        "memory": arguments.memory,
        "overwrite": arguments.force,
    }

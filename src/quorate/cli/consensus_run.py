"""What `quorate consensus` and `quorate cluster` have in common, from an ensemble to the summary.

Phases, in the order of the functions: refuse output files that cannot be written, find the consensus and score it,
write the files, write the summary. Importing this module imports the library.
"""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import replace
from typing import Any, NamedTuple

from quorate import Consensus, Ensemble, Scores, consensus, save_labels
from quorate._evaluation.repetition import AFFORDABLE_SECONDS, checked_permutations
from quorate._evaluation.within import evaluate_within
from quorate._io import refuse_output
from quorate._structure.judging import reference_of
from quorate._structure.reference import checked_draws
from quorate.cli.options import ambiguity_threshold, formulas_of, null_settings, reference_setting
from quorate.cli.output import consensus_facts, consensus_summary, table_facts, tell
from quorate.cli.progress import Step
from quorate.generation.features import as_features

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
    checked_permutations(null_settings(arguments, 0.0)["null"])
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    if arguments.report is not None:
        from quorate.reporting.writing import refuse_page

        refuse_page(arguments.report, arguments.force)


def find_consensus(
    arguments: argparse.Namespace,
    ensemble: Ensemble,
    settings: dict[str, Any],
    step: Step,
    *,
    start: float | None = None,
    told: dict[str, Any] | None = None,
    features: Any = None,
) -> Outcome:
    """Find the consensus and score it.

    Parameters
    ----------
    arguments : Namespace
        Says whether to compare the agreement with chance.
    ensemble : Ensemble
    settings : dict
        The keyword arguments of `quorate.consensus`; see `consensus_settings`.
    step : callable
        Shows progress; see `steps`.
    start : float, optional
        The time, by `time.perf_counter`, from which the seconds are counted; now by default.
    told : dict, optional
        What the info of the result says about the choice of the number of clusters.
    features : array, optional
        The measurements that the clusterings were made from, if there are any.
    """
    start = time.perf_counter() if start is None else start
    with step(f"finding the consensus of {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        result = consensus(ensemble, **settings)
    result = replace(result, info={**result.info, **(told or {})})
    if features is not None:
        result = _with_reference(arguments, result, ensemble, features, step)
    seconds = time.perf_counter() - start
    with step("scoring"):
        how = null_settings(arguments, max(AFFORDABLE_SECONDS, LARGEST_SHARE * seconds))
        scores = evaluate_within(result, ensemble, how["seconds"], null=how["null"])
    return Outcome(result, ensemble, scores, seconds, settings["random_state"])


def _with_reference(
    arguments: argparse.Namespace, result: Consensus, ensemble: Ensemble, features: Any, step: Step
) -> Consensus:
    """Compare the clusters with those of measurements without clusters, unless this is done or not wanted."""
    draws = checked_draws(reference_setting(arguments))
    if draws is None or "reference_test" in result.info:
        return result
    with step("comparing with measurements without clusters"):
        found = reference_of(result, result.labels, ensemble, as_features(features), draws)
    return result if found is None else replace(result, info={**result.info, "reference_test": dict(found._asdict())})


def write_results(arguments: argparse.Namespace, outcome: Outcome, step: Step) -> None:
    """Write the labels and the report, each if it is asked for."""
    if arguments.output is not None:
        with step(f"writing {arguments.output}"):
            formulas = formulas_of(arguments, arguments.output)
            save_labels(arguments.output, outcome.result, overwrite=arguments.force, formulas=formulas)
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
            )


def tell_outcome(arguments: argparse.Namespace, outcome: Outcome, **more: Any) -> None:
    """Write the summary or the JSON object; `more` are further facts to include."""
    facts = consensus_facts(outcome.result, outcome.ensemble, outcome.seconds)
    facts |= {**table_facts(outcome.ensemble), **more, "seed": outcome.seed, "output": arguments.output}
    below = ambiguity_threshold(arguments)
    if outcome.result.confidence is not None:
        facts["ambiguous"] = {"n": len(outcome.result.ambiguous(below)), "below": below}
    if arguments.report is not None:
        facts["report"] = arguments.report
    summary = consensus_summary(facts, outcome.scores)
    tell(arguments, {**facts, "scores": outcome.scores.as_dict(), "verdict": outcome.scores.verdict._asdict()}, summary)

"""The page docs/reliability.md, from what the last runs measured."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reliability.cases import read_corpus

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
WORDS = Path(__file__).parent / "page.md"
"""The words of the page; each line that is a name in braces is replaced by the figures of that name."""

TOPICS = {
    "arrays": "headers, types and shapes of .npy and .npz files",
    "checkpoints": "folders of checkpoints",
    "clusters": "explain, update, resolutions, predict, divide and names; noise, repeated ids and encodings",
    "columns": "the choice of columns, ids and weights",
    "damaged": "every format, damaged in up to 28 ways",
    "found": "files that mutation found",
    "measurements": "tables of measurements",
    "options": "every option of every command with values that it cannot have",
    "places": "files, folders, links and outputs that are not what the command line says",
    "processes": "in processes of their own",
    "results": "score, report and place",
    "texts": "tables of labels as text, encodings, odd ids and names",
}


def read_results() -> dict[str, Any]:
    """Return what the last runs measured, by the name of the run."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


def store(name: str, facts: dict[str, Any]) -> None:
    """Replace what the last run of this name measured."""
    results = {**read_results(), name: facts}
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def text(results: dict[str, Any]) -> str:
    """The whole page; the same results and the same corpus make the same page."""
    page = WORDS.read_text(encoding="utf-8")
    for name, made in (("corpus", _corpus()), ("fuzz", _fuzz(results)), ("soak", _soak(results))):
        page = page.replace(f"{{{name}}}\n", made)
    return page


def write_page() -> None:
    """Write docs/reliability.md anew."""
    PAGE.write_text(text(read_results()), encoding="utf-8")
    print(f"wrote {PAGE}")


def _corpus() -> str:
    cases = read_corpus()
    topics = Counter(case.name.split(":")[0].split("-")[0] for case in cases)
    lines = [f"| {TOPICS[topic]} | {topics[topic]:,} |" for topic in sorted(topics)]
    head = [f"The corpus has {len(cases):,} cases.", "", "| cases about | number |", "|---|---:|"]
    return "\n".join([*head, *lines]) + "\n"


def _fuzz(results: dict[str, Any]) -> str:
    if "fuzz" not in results:
        return "No run is stored yet.\n"
    run = results["fuzz"]
    total = sum(run["runs"].values())
    formats = Counter[str]()
    for source, times in run["runs"].items():
        formats[source.partition(".")[2] or "checkpoint"] += times
    shown = ", ".join(f"{name} {times:,}" for name, times in sorted(formats.items()))
    return (
        f"The last stored run ({run['date']}, Python {run['python']}, seed {run['seed']}, {run['minutes']:g} minutes) "
        f"tried {total:,} mutated files: {shown}. {run['refused']:,} were refused in one line, the others were read. "
        f"The slowest took {run['slowest']:.1f} s. {_faults(len(run['found']))}\n"
    )


def _soak(results: dict[str, Any]) -> str:
    lines = []
    for part, told in _TOLD.items():
        if part in results:
            run = results[part]
            lines.append(f"| {told.format(**run)} | {run['date']} | {_faults(len(run['wrong']))} |")
    if not lines:
        return "No run is stored yet.\n"
    return "\n".join(["| what was done | when | result |", "|---|---|---|", *lines]) + "\n"


def _faults(number: int) -> str:
    return "No fault was found." if not number else f"{number} faults were found."


_TOLD = {
    "writes": "{operations} operations on files, those of {writers} kinds of outputs and checkpoints, failed one after "
    "the other; {bounded} runs with bounded files or a full disk",
    "places": "{kinds} kinds of strange things, such as links, pipes and files of others, at each of {paths} paths "
    "that {writers} kinds of outputs touch; the power cut at each of {cuts} operations",
    "kills": "signals at random moments of {jobs} jobs: {sent[SIGKILL]} SIGKILL, {sent[SIGTERM]} SIGTERM, "
    "{sent[SIGHUP]} SIGHUP, {sent[SIGINT]} SIGINT; {met} of them met the job before it had ended",
    "memory": "{runs} runs with an address space of {from} MB and more",
    "peaks": "the peak of memory of {measured} runs of methods on tables of several shapes, under a limit of "
    "{megabytes} MB, beside what the methods say they need",
    "load": "{threads} threads at once; processes by fork, spawn and joblib; {imports} first imports at once; "
    "{calls:,} calls, after each of which the process had {bytes_per_call:g} bytes more",
}

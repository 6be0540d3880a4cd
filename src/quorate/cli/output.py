"""Writing the results of commands to the terminal: a summary for people, or one JSON object for programs."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import Consensus, Ensemble, Scores

MAX_MEMBERS = 8
"""The largest number of clusterings that a summary names; if there are more, it names half of this number."""
MAX_SIZES = 12
"""Number of cluster sizes in a summary; the JSON object holds all of them."""


def outputs_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the places that the command writes to, by option."""
    names = ("ensemble", "report", "save", "tree", "picture")
    options = {"-o": "output", **{f"--{name}": name for name in names}, "--model": "model_out"}
    places = {option: getattr(arguments, name, None) for option, name in options.items()}
    return {option: place for option, place in places.items() if place is not None}


def refuse_clashes(arguments: argparse.Namespace) -> None:
    """Raise if two results would go to one place, or a result to one of the files that the command reads.

    A file that is read is never replaced, --force or not: a mistyped -o must not cost the table it was made from.
    """
    outputs = outputs_of(arguments)
    if arguments.json and "-" in outputs.values():
        option = next(option for option, place in outputs.items() if place == "-")
        raise ValueError(f"--json and {option} - both write to standard output; write the results to a file")
    from quorate._io.paths import replaced_input

    taken: dict[str, str] = {}
    for option, place in outputs.items():
        real = place if place == "-" else os.path.realpath(place)
        if real in taken:
            where = "standard output" if place == "-" else place
            raise ValueError(f"{taken[real]} and {option} both write to {where}; name two files")
        taken[real] = option
    for option, place in outputs.items():
        path = None if place == "-" else replaced_input(place, _inputs_of(arguments))
        if path is not None:
            advice = "a folder of that name is there; choose another" if os.path.isdir(place) else "name another file"
            raise ValueError(f"{option} would replace {path}, which is read, and --force does not allow that; {advice}")


def _inputs_of(arguments: argparse.Namespace) -> list[str]:
    """Return the files that the command reads, those of folders and patterns among them."""
    from quorate._io.opening import expanded, is_many

    single = [
        getattr(arguments, name, None)
        for name in (
            "features",
            "labelling",
            "new",
            "result",
            "table",
            "before",
            "after",
            "model",
            "parents",
            "clusters",
        )
    ]
    more = getattr(arguments, "more_new", None) or []
    named = [path for path in (*getattr(arguments, "labels", []), *more, *single) if path not in (None, "-")]
    files: list[str] = []
    for path in named:
        # what cannot be read is refused in the words of the function that reads it
        with suppress(OSError, ValueError):
            files += map(str, expanded(path)) if is_many(path) else [path]
    return files


def tell(arguments: argparse.Namespace, facts: dict[str, Any], summary: str) -> None:
    """Write the facts with --json, nothing with --quiet, and the summary otherwise.

    The summary goes to standard error if the results themselves go to standard output.
    """
    if arguments.json:
        write_json(facts)
    elif not arguments.quiet:
        stream = sys.stderr if "-" in outputs_of(arguments).values() else sys.stdout
        stream.write(printable(summary))


def printable(text: str) -> str:
    """Return the text with control characters spelt out, except ends of lines: a name in a table could hold any."""
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


def write_json(facts: dict[str, Any]) -> None:
    """Write one JSON object to standard output."""
    import json

    sys.stdout.write(json.dumps(json_values(facts), allow_nan=False, indent=2) + "\n")


def json_values(value: Any) -> Any:
    """Return the value with lists instead of tuples, and None instead of NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value


SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".parquet", ".xlsx", ".npy", ".npz", ".zarr")
"""How names of tables end."""


def aligned(lines: dict[str, str]) -> str:
    """Return one line per entry: its name, padded to a common width, and its value."""
    return "".join(f"{name:<12} {value}\n" for name, value in lines.items())


def place_of(output: str) -> str:
    """Return the place of an output in words."""
    return "on standard output" if output == "-" else f"in {output}"


def table_facts(ensemble: Ensemble) -> dict[str, Any]:
    """Return facts about the clusterings, and about joined tables and objects left out if there are any."""
    from quorate.solvers.members import missing_shares

    missing = missing_shares(ensemble)
    used = zip(ensemble.member_names, ensemble.n_clusters.tolist(), missing.tolist(), strict=True)
    members = [{"name": name, "n_clusters": k, "missing": round(share, 6)} for name, k, share in used]
    changes = {
        name: ensemble.info[name] for name in ("joined", "skipped", "duplicates", "weights") if name in ensemble.info
    }
    return {"clusterings": members, "n_objects": ensemble.n_objects, **changes}


def outside_facts(n_outside: int) -> dict[str, int]:
    """Return how many objects a labelling leaves outside, if there are any."""
    return {"outside": n_outside} if n_outside else {}


def outside_text(n_outside: int) -> str:
    """Say how many objects a labelling leaves outside."""
    from quorate._check import counted

    belong, are = ("belongs", "is") if n_outside == 1 else ("belong", "are")
    return f"{counted(n_outside, 'object')} without a label {belong} to no cluster and {are} left out"


def former_lines(former: tuple[Any, ...]) -> dict[str, str]:
    """Say which ids no cluster has any more, and how the next update is kept from giving them again."""
    if not former:
        return {}
    from quorate._check import option

    listed = ",".join(map(str, former))
    used = option("--used", listed)
    return {"former ids": f"{listed}: no cluster has them now; so that none gets them again, add {used} next time"}


def table_summary(facts: dict[str, Any]) -> str:
    """Return the lines about the clusterings, the joined tables and the objects left out."""
    outside = {"outside": outside_text(facts["outside"])} if "outside" in facts else {}
    return aligned({**_table_lines(facts), **outside})


def _table_lines(facts: dict[str, Any]) -> dict[str, str]:
    members = facts["clusterings"]
    shown = members if len(members) <= MAX_MEMBERS else members[: MAX_MEMBERS // 2]
    texts = [_member_text(member) for member in shown]
    if len(shown) < len(members):
        rest = members[len(shown) :]
        fewest, most = min(m["n_clusters"] for m in rest), max(m["n_clusters"] for m in rest)
        spread = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        gaps = max(member["missing"] for member in rest)
        texts.append(f"... with {spread} clusters{f', up to {gaps:.1%} missing' if gaps else ''}")
    lines = {"clusterings": f"{len(members):,}: {', '.join(texts)}"}
    if "weights" in facts:
        lines["weights"] = _weights_text(facts["weights"])
    if "joined" in facts:
        total = facts["n_objects"] + facts.get("skipped", {"n": 0})["n"]
        parts = [f"{name} has {n:,}" for name, n in facts["joined"].items()]
        lines["joined"] = f"{', '.join(parts)} of {total:,} objects"
    if "duplicates" in facts:
        taken = {"first": "the first row", "last": "the last row", "vote": "what most rows say"}
        lines["repeated"] = f"{facts['duplicates']['n']:,} ids; taken is {taken[facts['duplicates']['taken']]}"
    if "skipped" in facts:
        first = ", ".join(facts["skipped"]["first"])
        dots = ", ..." if facts["skipped"]["n"] > len(facts["skipped"]["first"]) > 0 else ""
        which = f": {first}{dots}" if first else ""
        lines["left out"] = f"{facts['skipped']['n']:,} objects without any label{which}"
    return lines


def _weights_text(facts: dict[str, Any]) -> str:
    """Say how many clusterings count how much, and why some do not count in full."""
    full = sum(entry["weight"] == 1 for entry in facts.values())
    left_out: dict[str, list[str]] = {}
    for name, entry in facts.items():
        if not entry["weight"]:
            left_out.setdefault(entry["reason"], []).append(name)
    less = [
        f"{name} {entry['weight']:.2f} ({entry['reason']})" for name, entry in facts.items() if 0 < entry["weight"] < 1
    ]
    more = [f"... and {len(less) - MAX_MEMBERS:,} more"] if len(less) > MAX_MEMBERS else []
    reasons = [
        f"{names[0] if len(names) == 1 else f'{len(names):,}'} {reason.removesuffix('; is left out')}, left out"
        for reason, names in left_out.items()
    ]
    return "; ".join([f"{full:,} of {len(facts):,} clusterings count in full", *reasons, *less[:MAX_MEMBERS], *more])


def _member_text(facts: dict[str, Any]) -> str:
    gaps = f", {facts['missing']:.1%} missing" if facts["missing"] else ""
    return f"{facts['name']} ({facts['n_clusters']:,} clusters{gaps})"


def consensus_facts(result: Consensus, ensemble: Ensemble, seconds: float) -> dict[str, Any]:
    """Return the facts about a consensus, and about the choices that the library made, if there were any."""
    kept = ("auto", "coarsen", "judge", "weights", "camps", "min_size", "max_clusters")
    chosen = {name: result.info[name] for name in kept if name in result.info}
    if "choice" in result.info:
        chosen["choice"] = result.info["choice"].as_dict()
    return {
        "method": result.method,
        "n_objects": len(result.labels),
        "n_rows": result.info["n_rows"],
        "n_members": ensemble.n_members,
        "n_clusters": result.n_clusters,
        "sizes": result.sizes.tolist(),
        **({"outside": result.info["outside"]} if "outside" in result.info else {}),
        "objective": result.objective,
        "n_iter": result.n_iter,
        "converged": result.converged,
        "seconds": round(seconds, 3),
        **chosen,
    }


def consensus_summary(facts: dict[str, Any], scores: Scores) -> str:
    """Return the summary of a consensus, from its facts and scores."""
    lines = {"base": facts["base"], "members": facts["k"]} if "k" in facts else {}
    lines |= {
        "method": _method_line(facts),
        **({"judged": facts["judge"]["reason"]} if "judge" in facts else {}),
        "objects": f"{facts['n_objects']:,} ({_distinct_rows(facts):,} distinct rows)",
        **_coarsen_lines(facts),
        **_table_lines(facts),
        "clusters": f"{facts['n_clusters']:,}",
        "sizes": _sizes_line(facts["sizes"]),
        **_limit_lines(facts),
        **({"outside": f"{facts['outside']:,} objects belong to no cluster"} if "outside" in facts else {}),
        **_stability_lines(scores),
        **_ambiguous_lines(facts),
        **_agreement_lines(scores),
        "density": f"{scores.density:.4f}",
        "seconds": f"{facts['seconds']:.2f}",
        **_memory_lines(facts),
        "labels": "not saved; add -o FILE" if facts["output"] is None else place_of(facts["output"]),
    }
    if "report" in facts:
        lines["report"] = place_of(facts["report"])
    if "choice" in facts:
        lines["chosen"] = facts["choice"]["reason"]
    return aligned(lines) + verdict_summary(scores)


def stability_facts(scores: Scores) -> dict[str, Any]:
    """Return the stability of each cluster for the JSON object; nothing if it is not known."""
    return {} if scores.stability is None else scores.stability.as_dict()


def scores_facts(scores: Scores) -> dict[str, Any]:
    """Return scores, verdict and stability of a consensus for the JSON object."""
    return {"scores": scores.as_dict(), "verdict": scores.verdict._asdict(), **stability_facts(scores)}


def _stability_lines(scores: Scores) -> dict[str, str]:
    """Say how many clusters are how stable, the most stable first."""
    from collections import Counter

    from quorate._verdict import rounded_down

    if scores.stability is None:
        return {}
    rows = sorted(scores.stability.rows, key=lambda row: -(row.stability or 0.0))
    times = Counter(row.meaning for row in rows if row.meaning)
    lowest = rows[-1]
    told = ", ".join(f"{count:,} {meaning}" for meaning, count in times.items())
    last = "" if lowest.stability is None else f"; lowest {rounded_down(lowest.stability)} (cluster {lowest.cluster})"
    return {"stability": told + last}


def _distinct_rows(facts: dict[str, Any]) -> int:
    """Return the number of distinct rows before any were merged."""
    return int(facts["coarsen"]["n_distinct_rows"] if "coarsen" in facts else facts["n_rows"])


def _coarsen_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return how rows were merged, and what that lost."""
    if "coarsen" not in facts:
        return {}
    done = facts["coarsen"]
    how = f"theta {done['theta']:g}, keep {done['keep']:g}"
    lost = f"; merging loses {done['loss']:.1%} of the agreement" if "loss" in done else ""
    if done.get("way", "merged") != "merged":
        return {"coarsen": f"{done['way']}, the others placed, instead of merged rows with {how}{lost}"}
    return {"coarsen": f"{done['n_distinct_rows']:,} distinct rows became {done['n_rows']:,} ({how}){lost}"}


def _limit_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Say what --min-size and --max-clusters changed; nothing if they did not bind."""
    lines = {}
    if "min_size" in facts:
        told = facts["min_size"]
        lines["joined"] = (
            f"{told['n_too_small']:,} of {told['n_clusters_before']:,} clusters had fewer than {told['min_size']:,} "
            f"objects, and {told['n_clusters_before']:,} became {facts['n_clusters']:,}"
        )
    if "max_clusters" in facts:
        told = facts["max_clusters"]
        before = "highest_compared_before"
        what = f"up to {told[before]:,} would have been compared" if before in told else ""
        what = what or f"the method found {told['n_clusters_before']:,}"
        lines["limit"] = f"at most {told['max_clusters']:,} clusters were allowed; {what}"
    return lines


def _ambiguous_lines(facts: dict[str, Any]) -> dict[str, str]:
    if "ambiguous" not in facts:
        return {}
    from quorate._check import counted, has

    ambiguous = facts["ambiguous"]
    objects = counted(ambiguous["n"], "object")
    return {"ambiguous": f"{objects} {has(ambiguous['n'])} a confidence below {ambiguous['below']:g}"}


def verdict_summary(scores: Scores) -> str:
    """The lines about how far to believe the result."""
    verdict = scores.verdict
    advice = (
        verdict.next_step if verdict.grade or not verdict.next_step else "add --null auto to compare it with chance"
    )
    lines = {"verdict": verdict.text, "because": verdict.reason, "next": advice, "cannot tell": verdict.cannot_tell}
    return aligned({name: text for name, text in lines.items() if text})


def _method_line(facts: dict[str, Any]) -> str:
    """Return the method, the reason if the library chose it, and a note if it did not converge."""
    notes = [f"auto: {facts['auto']}"] if "auto" in facts else []
    notes += [] if facts["converged"] else ["stopped before it converged"]
    return str(facts["method"]) + (f" ({'; '.join(notes)})" if notes else "")


def _memory_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return what a run in blocks used of its memory budget; nothing for a table in memory."""

    if "memory" not in facts:
        return {}
    from quorate._check import size

    memory = facts["memory"]
    peak = "" if memory["peak"] is None else f"{size(memory['peak'])} at most, the program included; "
    blocks = f"{facts['n_blocks']:,} block{'s' if facts['n_blocks'] != 1 else ''}"
    return {"memory": f"{peak}a budget of {size(memory['budget'])}, read in {blocks}"}


def _sizes_line(sizes: list[int]) -> str:
    """Return the size of each cluster behind its label; of many clusters the largest, which come first."""
    shown: Any = range(len(sizes))
    if len(sizes) > MAX_SIZES:
        shown = sorted(shown, key=lambda label: -sizes[label])[:MAX_SIZES]
    return ", ".join(f"{label}: {sizes[label]:,}" for label in shown) + (", ..." if len(sizes) > MAX_SIZES else "")


def _agreement_lines(scores: Scores) -> dict[str, str]:
    """The agreement with clusterings that were left out; and the ANMI with those that the consensus was fitted to."""
    from quorate._verdict import is_unfair

    lines = {"ANMI": f"{scores.anmi:.4f} with the clusterings that it was made from"}
    if scores.agreement is None or scores.agreement_best_member is None or scores.agreement_mean_member is None:
        return lines
    others = f"best clustering {scores.agreement_best_member:.4f}, mean clustering {scores.agreement_mean_member:.4f}"
    if is_unfair(scores.agreement, scores.agreement_best_member, scores.more_clusters):
        others += f", but clusterings have {scores.more_clusters:.2g} times as many clusters as the consensus"
    return {"agreement": f"{scores.agreement:.4f} with clusterings left out ({others})", **lines}


def ensemble_facts(ensemble: Ensemble, seconds: float) -> dict[str, Any]:
    """Return the facts about a generated ensemble."""
    return {
        "n_objects": ensemble.n_objects,
        "n_members": ensemble.n_members,
        "base": ensemble.info["base"],
        "k": ensemble.info["k"],
        "n_clusters": ensemble.n_clusters.tolist(),
        "seed": ensemble.info["seed"],
        "members": list(ensemble.info["members"]),
        "seconds": round(seconds, 3),
    }


def ensemble_summary(facts: dict[str, Any]) -> str:
    """Return the summary of a generated ensemble, from its facts."""
    fewest, most = min(facts["n_clusters"]), max(facts["n_clusters"])
    return aligned(
        {
            "objects": f"{facts['n_objects']:,}",
            "clusterings": f"{facts['n_members']:,}",
            "base": facts["base"],
            "k": facts["k"],
            "clusters": f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}",
            "seconds": f"{facts['seconds']:.2f}",
            "ensemble": place_of(facts["output"]),
        }
    )

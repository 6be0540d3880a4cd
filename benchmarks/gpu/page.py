"""The pages docs/gpu.md and docs/measured/gpu.md, from what was measured: python -m benchmarks.gpu.page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.gpu.stages import COPY_RATE

FOLDER = Path(__file__).parent
PAGE, EVIDENCE = Path("docs/gpu.md"), Path("docs/measured/gpu.md")
Case = dict[str, Any]

AIMS = (
    ("100 million x 16 features on the card to a consensus, k-means members", 3.0, ("features", 10**8, "kmeans", None)),
    ("100 million x 16 features on the card, landmark-spectral members", 30.0, ("features", 10**8, "spectral", None)),
    ("100 million x 20 labels in host memory to labels in host memory", 3.0, ("labels", 10**8, None, None)),
    ("one billion x 16 features on the card, k-means members", 60.0, ("features", 10**9, "kmeans", None)),
)


def read(name: str) -> list[Case]:
    """The stored results; the last one of a case counts."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def latest(cases: list[Case]) -> list[Case]:
    names = ("kind", "n", "base", "data", "method", "device", "start")
    return list({tuple(case.get(name) for name in names): case for case in cases}.values())


def seconds(case: Case) -> float:
    return float(case.get("generate", 0.0) + case.get("consensus", 0.0) + case.get("one clustering", 0.0))


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(header)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def number(n: int) -> str:
    return f"{n // 10**6:,} M" if n >= 10**6 else f"{n:,}"


def time(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def find(cases: list[Case], kind: str, n: int, base: str | None, method: str | None) -> list[Case]:
    return [
        case
        for case in cases
        if case["kind"] == kind
        and case["n"] == n
        and case["device"] == "cuda"
        and "start" not in case
        and base in (None, case.get("base"))
        and (method is None or case["method"] == method)
        and "failed" not in case
    ]


def aims(cases: list[Case]) -> str:
    rows = []
    for text, aim, (kind, n, base, method) in AIMS:
        found = find(cases, kind, n, base, method)
        measured = ", ".join(f"{time(seconds(case))} s ({case['data']}, {case['method']})" for case in found)
        rows.append((text, f"{aim:g} s", measured or "not measured"))
    return table(("from, to", "aim", "measured"), rows)


def summary(cases: list[Case]) -> str:
    """Seconds on the card and on the processor of whole jobs by lwgp, the easy and the hard data of each size."""
    jobs = {("features", "kmeans"): "16 measurements, k-means members", ("labels", None): "a table of 20 labels"}
    rows = []
    for (kind, base), words in jobs.items():
        for n in sorted({case["n"] for case in cases if case["kind"] == kind}):
            found = {case["data"]: case for case in find(cases, kind, n, base, "lwgp")}
            if found:
                rows.append((words, number(n), *_both(cases, found)))
    return table(("from", "objects", "card, seconds (easy, hard)", "processor, seconds (easy, hard)"), rows)


def _both(cases: list[Case], found: dict[str, Case]) -> tuple[str, str]:
    ours = [time(seconds(found[data])) for data in ("easy", "hard") if data in found]
    processor = [_processor_of(cases, found[data]) for data in ("easy", "hard") if data in found]
    beside = ["not run" if case is None else time(seconds(case)) for case in processor]
    return ", ".join(ours), ", ".join(dict.fromkeys(beside) if set(beside) == {"not run"} else beside)


def _processor_of(cases: list[Case], case: Case) -> Case | None:
    """The same case on the processor of the same machine, if it was run."""
    names = ("kind", "n", "base", "data", "method")
    same = [other for other in cases if other["device"] == "cpu" and all(other.get(n) == case.get(n) for n in names)]
    return same[0] if same else None


def whole_line(cases: list[Case], kind: str, choose: Callable[[Case], bool]) -> str:
    """Times of the cases of one kind, the processor of the same machine in the last column."""
    rows = []
    for case in cases:
        if case["kind"] != kind or case["device"] != "cuda" or not choose(case):
            continue
        beside = _processor_of(cases, case)
        processor = "not run" if beside is None else _processor(beside)
        if "failed" in case:
            rows.append((number(case["n"]), case["data"], case["method"], case["failed"], "", "", "", "", processor))
            continue
        start = " (from host memory)" if case.get("start") == "host" else ""
        rows.append(
            (
                *(number(case["n"]) + start, case["data"], case["method"], f"**{time(seconds(case))}**"),
                time(case["generate"]) if "generate" in case else "",
                *(f"{case['n_rows']:,}", f"{case['ari']:.3f}", str(case["card GB"]), processor),
            )
        )
    names = ("objects", "data", "method", "seconds", "of which `generate`", "distinct rows", "ARI", "card, GB")
    return table((*names, "processor, seconds (ARI)"), sorted(rows, key=lambda row: (len(row[0]), row[0], row[1])))


def _processor(case: Case) -> str:
    return str(case["failed"]) if "failed" in case else f"{time(seconds(case))} ({case['ari']:.3f})"


def peers(cases: list[Case]) -> str:
    names = {"torch": "PyTorch, 20 sweeps, on the card", "sklearn": "scikit-learn, all cores"}
    rows = [
        (names[case["kind"]], number(case["n"]), case["data"], time(seconds(case)), f"{case['ari']:.3f}")
        for case in cases
        if case["kind"] in names and "failed" not in case
    ]
    return table(("k-means once, k = 10", "objects", "data", "seconds", "ARI"), rows)


def stages(rows: list[Case]) -> str:
    found = {(row["data"], row["stage"]): row for row in rows}
    names = list(dict.fromkeys(row["stage"] for row in rows if row["stage"] != "make features"))
    lines = []
    for name in names:
        cells = [name]
        for data in ("easy", "hard"):
            row = found.get((data, name))
            if row is None:
                cells += ["", ""]
                continue
            floor = row["bytes"] / COPY_RATE
            cells += [f"{1e3 * row['seconds']:.1f}", f"{1e3 * floor:.1f}" if floor else ""]
        lines.append(cells)
    return table(("stage, 100 million objects", "easy, ms", "bytes / 4.3 TB/s", "hard, ms", "bytes / 4.3 TB/s"), lines)


def main() -> None:
    cases, parts = latest(read("results.jsonl")), read("stages.jsonl")
    machine = next(case for case in cases if case.get("card"))
    values = {
        "MACHINE": f"one {machine['card']} (driver {machine['driver']}) and {machine['cores']} processor cores",
        "SUMMARY": summary(cases),
        "AIMS": aims(cases),
        "KMEANS": whole_line(cases, "features", lambda case: case["base"] == "kmeans"),
        "SPECTRAL": whole_line(cases, "features", lambda case: case["base"] == "spectral"),
        "LABELS": whole_line(cases, "labels", lambda case: True),
        "PEERS": peers(cases),
        "STAGES": stages(parts),
        "ROWS": ", ".join(dict.fromkeys(f"{row['n_rows']:,} ({row['data']})" for row in parts)),
    }
    for name, page in (("page.md", PAGE), ("measured.md", EVIDENCE)):
        text = (FOLDER / name).read_text(encoding="utf-8")
        for place, value in values.items():
            text = text.replace("{{" + place + "}}", value)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        print(f"wrote {page}: {len(cases)} cases")


if __name__ == "__main__":
    main()

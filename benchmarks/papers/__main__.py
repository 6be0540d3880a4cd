"""`python -m benchmarks.papers [PAPER | PAPER:EXPERIMENT ...] --data FOLDER [--quick] [--page-only]`.

Measures what is not in benchmarks/papers/results/ yet and writes docs/papers/. --quick measures a few cases of
everything into benchmarks/results/papers-quick instead: that it runs, not how well.
"""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

from benchmarks.papers import inventory
from benchmarks.papers.compare import Claim, plain_table
from benchmarks.papers.paper import Paper, claims_table, measure, write_page
from benchmarks.papers.records import Results
from benchmarks.speed.measure import environment

PAPERS: tuple[str, ...] = (
    "cluster_ensembles",
    "ca_tree",
    "ca_hne",
    "sparse_eac",
    "linear_eac",
)
SHORT = {
    "cluster_ensembles": "Cluster Ensembles",
    "ca_tree": "CA-tree",
    "ca_hne": "normalized edges",
    "sparse_eac": "sparse EAC",
    "linear_eac": "linear EAC",
}
RESULTS, PAGES = Path("benchmarks/papers/results"), Path("docs/papers")
QUICK = Path("benchmarks/results/papers-quick")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"{', '.join(PAPERS)}, or one experiment as linear_eac:tables")
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument("--quick", action="store_true", help="a few cases of everything, in minutes")
    parser.add_argument("--page-only", action="store_true", help="write the pages from what was measured")
    parser.add_argument("--list", action="store_true", help="name the experiments and leave")
    arguments = parser.parse_args()
    wanted = [part.partition(":")[::2] for part in arguments.what or PAPERS]
    for name, _ in wanted:
        if name not in PAPERS:
            parser.error(f"{name!r} is none of {', '.join(PAPERS)}")
    papers = {name: load_paper(name) for name in PAPERS}
    for name, experiment in wanted:
        if experiment and experiment not in (known := [e.name for e in papers[name].experiments]):
            parser.error(f"{name} has no experiment {experiment!r}, only {', '.join(known)}")
    if arguments.list:
        print("\n".join(f"{n}:{e.name:<24} {e.title}" for n, paper in papers.items() for e in paper.experiments))
        return
    if arguments.data:
        os.environ["QUORATE_DATA"] = arguments.data
    elif not arguments.page_only:
        parser.error("name the folder of data sets with --data or QUORATE_DATA")
    source, pages = (QUICK, QUICK) if arguments.quick else (RESULTS, PAGES)
    if not arguments.page_only:
        print(environment(), flush=True)
        for name, experiment in wanted:
            _measure(papers[name], source, experiment or None, arguments.quick)
    _write_pages(papers, source, pages, arguments.quick)


def load_paper(name: str) -> Paper:
    paper: Paper = importlib.import_module(f"benchmarks.papers.{name}").PAPER
    return paper


def _measure(paper: Paper, source: Path, only: str | None, quick: bool) -> None:
    absent = measure(paper, Results(source / f"{paper.name}.jsonl"), only=only, quick=quick)
    for experiment, number in absent.items():
        print(f"{paper.name}:{experiment}: {number} cases left out, their data sets are not in the folder", flush=True)


def _write_pages(papers: dict[str, Paper], source: Path, pages: Path, quick: bool) -> None:
    """Every page and the summary: they take seconds, so they are always all of one piece."""
    head = [
        "# Five papers, reproduced",
        "There is one page per paper, with every table and figure whose data exist: printed values are beside measured "
        "ones.",
    ]
    sections, counts = [], []
    for name, paper in papers.items():
        claims = write_page(paper, Results(source / f"{name}.jsonl"), pages, quick=quick)
        link = f"[{paper.title}]({name.replace('_', '-')}.md)"
        sections += [f"## {link}", claims_table(claims)]
        counts.append((link, *(sum(claim.verdict == verdict for claim in claims) for verdict in Claim.VERDICTS)))
        print(f"wrote {pages / name.replace('_', '-')}.md", flush=True)
    counts.append(("all", *(sum(column) for column in list(zip(*counts, strict=True))[1:])))
    head.append(plain_table(("claims", *Claim.VERDICTS), counts))
    sections.append(inventory.section(SHORT))
    (pages / "README.md").write_text("\n\n".join(head + sections) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

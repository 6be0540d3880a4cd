"""The Python and shell blocks of all pages that assume data of the reader: they run on made-up data, in their order."""

from __future__ import annotations

import re
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from test_docs import DOCS, GUIDES

import quorate
from quorate.cli import main

matplotlib.use("agg")

ON_THEIR_OWN = ("results.md", "out-of-core.md")
"""Pages whose output is compared, in test_docs.py."""
DOCTESTS = ("tables.md",)
"""Pages whose blocks are doctests, in test_long_work.py."""
NEEDS = {"dask.md": "distributed", "gpu.md": "cupy"}
"""Packages, or a card, that the blocks of a page need."""


def blocks_of(page: Path, language: str = "python") -> list[str]:
    found = re.findall(
        rf"^```(?:{language})\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return [str(block) for block in found]


WITH_BLOCKS = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if blocks_of(page))
PAGES = [name for name in WITH_BLOCKS if name not in (*GUIDES, *ON_THEIR_OWN, *DOCTESTS)]


def has_card() -> bool:
    import cupy

    try:
        return bool(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def write_logo() -> None:
    matplotlib.image.imsave("logo.png", np.zeros((8, 8)))


def data_of_the_reader() -> dict[str, object]:
    """What the pages call X, labels, table and so on, and all public names."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(240) % 10)
    X = rng.normal(scale=9.0, size=(10, 4))[truth] + rng.normal(size=(240, 4))
    labels = np.stack([np.where(rng.random(240) < 0.2, rng.integers(10, size=240), truth) for _ in range(8)], axis=1)
    frame = pd.DataFrame(labels, columns=[f"run {place}" for place in range(8)])
    frame.insert(0, "customer", [f"c{place}" for place in range(240)])
    frame.to_csv("labels.csv", index=False)
    public = {name: getattr(quorate, name) for name in quorate.__all__}
    ensemble = quorate.as_ensemble(labels)
    result = quorate.consensus(ensemble, 10, random_state=0)
    given = {"X": X, "features": X, "X_new": X[:5] + 0.1, "labels": labels, "table": labels, "ensemble": ensemble}
    more = {
        "any_labels": truth % 9,
        "labels_of_a_new_member": truth,
        "labels_of_new_objects": np.column_stack([labels, truth])[:9],
    }
    more |= {"result": result, "quorate": quorate, "customers": pd.DataFrame(X, columns=list("wxyz"))}
    write_logo()
    return {**public, **given, **more}


@pytest.mark.parametrize("name", PAGES)
def test_the_python_blocks_of_every_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    needed = NEEDS.get(name)
    if needed is not None and find_spec(needed) is None:
        pytest.skip(f"the blocks of {name} need {needed}, which is not installed")
    if needed == "cupy" and not has_card():
        pytest.skip(f"the blocks of {name} need a CUDA card, and there is none")
    monkeypatch.chdir(tmp_path)
    names = data_of_the_reader()
    with warnings.catch_warnings():
        # pages show warnings to their readers
        warnings.simplefilter("default")
        for block in blocks_of(DOCS / name):
            exec(compile(block, name, "exec"), names)
    plt.close("all")


def test_no_page_is_left_out() -> None:
    assert set(WITH_BLOCKS) == {*PAGES, *GUIDES, *ON_THEIR_OWN, *DOCTESTS}
    assert set(NEEDS) <= set(PAGES)
    assert len(PAGES) >= 12


SHELL_ALONE = ("tutorials/06-ten-million-rows.md",)
"""Pages whose commands are measured on ten million rows."""
FIRST = {
    "how-to/explain-clusters.md": ["quorate consensus segments.csv --id customer -k 2 -o labels.csv"],
    "how-to/follow-clusters.md": ["quorate consensus segments.csv --id customer -k 5 -o may-labels.csv"],
    "how-to/new-objects.md": ["quorate consensus segments.csv --id customer -k 2 -o labels.csv"],
    "report.md": ["quorate consensus labels.csv --id customer -k 5 -o consensus.csv"],
    "results.md": ["quorate consensus labels.csv --id customer -k 5 -o consensus.csv"],
}
"""What a page takes for granted."""


def commands_of(page: Path) -> list[str]:
    lines = "".join(blocks_of(page, "bash|sh")).replace("\\\n", " ").splitlines()
    return [line.split("   #")[0].strip() for line in lines if line.startswith("quorate ")]


WITH_COMMANDS = [
    name
    for name in sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if commands_of(page))
    if name not in SHELL_ALONE
]


def write_files_of_the_reader() -> None:
    """Write the tables that the pages name."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(120) % 5)
    ids = [f"c{place}" for place in range(120)]
    labels = np.stack([np.where(rng.random(120) < 0.1, rng.integers(5, size=120), truth) for _ in range(6)], axis=1)
    measured = pd.DataFrame(rng.normal(scale=9.0, size=(5, 3))[truth] + rng.normal(size=(120, 3)), columns=list("xyz"))
    table = pd.DataFrame(labels, columns=["sales", "old study", "web", "shop", "mail", "app"])
    measured.to_csv("X.csv", index=False)
    table.to_csv("members.csv", index=False)
    table.insert(0, "customer", ids)
    for name in ("labels.csv", "segments.csv", "new.csv"):
        table.to_csv(name, index=False)
    table.to_csv("june.csv", index=False)
    table.to_csv("scans.csv", index=False)
    pd.DataFrame({"cell": ids, "leiden_0.2": labels[:, 0] % 2, "leiden_1.0": labels[:, 1]}).to_csv(
        "leiden.csv", index=False
    )
    quorate.save_model("model.npz", quorate.EnsembleClustering(5, n_members=2, random_state=0).fit(measured))
    measured.insert(0, "customer", ids)
    measured.to_csv("measurements.csv", index=False)
    measured.rename(columns={"customer": "cell"}).to_csv("counts.csv", index=False)
    homes = np.array(["homes", "trips", "food", "books", "music"])[truth]
    pd.DataFrame({"customer": ids, "label": homes}).to_csv("result.csv", index=False)
    pd.DataFrame({"cell": ids, "label": truth % 2}).to_csv("cells.csv", index=False)
    kinds = np.array(["CD4", "CD8", "T", "B", "T"])
    pd.DataFrame({"cell": ids, "a": kinds[truth], "b": kinds[labels[:, 0]]}).to_csv("calls.csv", index=False)
    Path("ontology.csv").write_text("node,parent\nCD4,T\nCD8,T\nT,immune\nB,immune\nimmune,\n")
    write_logo()
    departments = ("sales", "Kunde", [f"{place:03}" for place in range(120)]), ("web", "KdNr", range(120))
    for column, id_name, names in departments:
        pd.DataFrame({id_name: names, column: labels[:, 0]}).to_csv(f"{column}.csv", index=False)
    town = np.array(["Aix", "Bonn", "Cork", "Dax", "Ede"])[truth]
    for name in ("customers.csv", "new-customers.csv"):
        measured.assign(town=town, remark=ids).to_csv(name, index=False)
    for folder, part in (("labels", table), ("new", table), ("measurements", measured)):
        Path(folder).mkdir()
        part.to_parquet(f"{folder}/part.parquet")
    for place, hospital in enumerate(("aachen", "basel", "cork", "delft", "essen")):
        table.rename(columns={"customer": "patient"}).iloc[:, [0, place + 1]].to_csv(f"{hospital}.csv", index=False)


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_the_shell_commands_of_every_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files_of_the_reader()
    for command in FIRST.get(name, []) + commands_of(DOCS / name):
        words = shlex.split(command)[1:]
        # inputs of one command are outputs of another page
        words += ["--force"] * ("-o" in words)
        if words == ["--version"]:
            continue
        assert main([*words, *(["--quiet"] * ("-o" in words))]) == 0, command

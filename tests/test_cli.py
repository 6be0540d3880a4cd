"""The shell tool: what it prints where, what it writes, and one line for everything that is wrong."""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import METHODS, consensus, evaluate, load_labels
from quorate.cli import main
from quorate.cli.options import named_values
from quorate.cli.options import steps_of as steps
from quorate.cli.output import json_values

Output = pytest.CaptureFixture[str]


def write_table(folder: Path) -> Path:
    """60 objects of 3 kinds, seen by 4 members with a little noise and gaps; the truth is a column too."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    lines = ["name,a,b,c,d,truth"]
    for place, kind in enumerate(truth):
        seen = [kind if rng.random() > 0.1 else rng.integers(3) for _ in range(4)]
        cells = [f"s{seen[0]}", str(seen[1] + 1), "" if place % 7 == 0 else str(seen[2]), "xyz"[seen[3]]]
        lines.append(f"o{place},{','.join(cells)},{'ABC'[kind]}")
    path = folder / "labels.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path)


MEMBERS = ("--id", "name", "--columns", "a,b,c,d")


def fails(capsys: Output, *arguments: Any, status: int = 2) -> str:
    """Run, expect failure, and give back the one line that says why."""
    assert main([str(argument) for argument in arguments]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("quorate: error: ")
    assert "Traceback" not in captured.err
    return captured.err


def test_a_consensus_is_written_and_summed_up(table: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "out.csv"
    assert main(["consensus", str(table), *MEMBERS, "-k", "3", "-m", "kmeans", "-o", str(out)]) == 0
    text = capsys.readouterr().out
    for word in ("kmeans", "60 (", "clusters     3", "ANMI", "best clustering", "density", "seconds", f"in {out}"):
        assert word in text
    expected = consensus(load_labels(table, ids="name", columns=list("abcd")), 3, random_state=0)
    lines = out.read_text().splitlines()
    assert lines[0] == "name,label,confidence"
    assert [line.split(",")[:2] for line in lines[1:]] == [[f"o{n}", str(c)] for n, c in enumerate(expected.labels)]


def test_without_output_nothing_is_written(table: Path, tmp_path: Path, capsys: Output) -> None:
    assert main(["consensus", str(table), *MEMBERS, "-k", "3"]) == 0
    assert "not saved; add -o FILE" in capsys.readouterr().out
    assert [p.name for p in tmp_path.iterdir()] == ["labels.csv"]


def test_json(table: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "out.parquet"
    assert main(["consensus", str(table), *MEMBERS, "-k", "3", "-o", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (facts["method"], facts["n_objects"], facts["n_members"], facts["n_clusters"]) == ("lwgp", 60, 4, 3)
    assert facts["auto"].startswith("linear in rows, the best mean NMI")
    assert facts["output"] == str(out)
    assert sum(facts["sizes"]) == 60
    ensemble = load_labels(table, ids="name", columns=list("abcd"))
    assert facts["scores"]["anmi"] == pytest.approx(evaluate(consensus(ensemble, 3, random_state=0), ensemble).anmi)
    assert load_labels(out, ids="name", columns=["label"]).n_objects == 60


def test_json_knows_no_nan() -> None:
    strict = json_values({"a": float("nan"), "b": [float("inf"), 1.5], "c": (None, True), "d": {"e": -float("inf")}})
    assert strict == {"a": None, "b": [None, 1.5], "c": [None, True], "d": {"e": None}}


def test_one_member_has_no_others(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "one.csv"
    path.write_text("a\n1\n1\n2\n")
    assert main(["consensus", str(path), "-k", "2"]) == 0
    assert "best clustering" not in capsys.readouterr().out
    assert main(["consensus", str(path), "-k", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["best_member"] is None


def test_standard_input_and_output(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(table.read_text()))
    assert main(["consensus", "-", *MEMBERS, "-k", "3", "-o", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("name,label,confidence\no0,0,")
    assert captured.out.count("\n") == 61
    assert "on standard output" in captured.err
    monkeypatch.setattr(sys, "stdin", io.StringIO(captured.out))
    assert main(["score", str(table), "-", *MEMBERS, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_a_method_that_finds_k(table: Path, capsys: Output) -> None:
    assert main(["consensus", str(table), *MEMBERS, "-m", "best", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_clusters"] == 3
    # a method that does not find the number itself gets the one that choose_k chooses
    assert main(["consensus", str(table), *MEMBERS, "-m", "kmeans", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["method"] == "kmeans"
    assert facts["n_clusters"] == 3


def test_options_of_the_method(table: Path, capsys: Output) -> None:
    arguments = ["consensus", str(table), *MEMBERS, "-k", "3", "-m", "kmeans"]
    arguments += ["--option", "n_init=2", "--option", "max_iter=5"]
    assert main([*arguments, "--quiet", "--seed", "7"]) == 0
    assert capsys.readouterr().out == ""
    assert "'kmeans' has no option 'speed'" in fails(capsys, *arguments, "--option", "speed=1")
    assert "--option must be NAME=VALUE, got 'n_init'" in fails(capsys, *arguments, "--option", "n_init")
    assert named_values(["a=1", "b=0.5", "c=true", "d=None", "e=x=y", "f="], "--option") == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": None,
        "e": "x=y",
        "f": "",
    }


def test_weights_missing_and_orientation(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("x,y,z\n1,0,2\n1,-9,2\n")
    common = ("consensus", path, "-k", "2", "--orientation", "members")
    arguments = [*map(str, common), "--missing", "0", "--missing", "-9"]
    assert main([*arguments, "--json"]) == 2
    assert "1 of 3 objects has no label" in capsys.readouterr().err
    path.write_text("x,y,z\n1,0,2\n1,1,2\n")
    assert main([*arguments, "--weights", "1,2.5", "-o", "-"]) == 0
    head, first = capsys.readouterr().out.splitlines()[:2]
    assert head == "id,label,confidence"
    assert first.startswith("x,0,0.9")
    assert "--weights must be numbers" in fails(capsys, *common, "--weights", "1;2")
    assert "one value per member, 2 in all" in fails(capsys, *common, "--weights", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "0"], "n_clusters must be at least 1, got 0"),
        (["-k", "-3"], "n_clusters must be at least 1, got -3"),
        (["-k", "2.5"], "-k must be an integer, auto, or a range such as 2:20, got '2.5'"),
        (["-k", "three"], "-k must be an integer, auto, or a range such as 2:20, got 'three'"),
        (["-k", "61"], "n_clusters = 61 is more than the"),
        (["-k", "3", "--seed", "x"], "--seed must be an integer, got 'x'"),
        (["-k", "3", "--seed", "-1"], "random_state must be at least 0"),
        (["-k", "3", "-m", "magic"], "method must be one of 'auto', 'best'"),
        (["-k", "3", "-o", "out.doc"], "must end in .csv"),
        (["-k", "3", "-o", "nowhere/out.csv"], "the folder nowhere does not exist"),
        (["-k", "3", "--json", "-o", "-"], "both write to standard output"),
        (["-k", "3", "--max-bytes", "much"], "--max-bytes must be a number of bytes such as 8e9 or 8GB, got 'much'"),
        (["-k", "3", "--max-bytes", "inf"], "--max-bytes must be a number of bytes such as 8e9 or 8GB, got 'inf'"),
        (["-k", "3", "--option", "n_clusters=4"], "--option n_clusters is the same as -k; give -k alone"),
        (["-k"], "argument -k: expected one argument; see quorate consensus --help"),
        (
            ["--clusters", "3"],
            "unrecognized arguments: --clusters 3 (did you mean '--max-clusters'?); see quorate consensus --help",
        ),
        (["-k", "3", "--progress", "--no-progress"], "not allowed with argument"),
        (["-k", "3", "--orientation", "rows"], "invalid choice: 'rows'"),
    ],
)
def test_bad_options(
    table: Path,
    arguments: list[str],
    message: str,
    capsys: Output,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert message in fails(capsys, "consensus", table, *MEMBERS, *arguments)


@pytest.mark.parametrize("arguments", [[], ["--k", "3"], ["dance"], ["consensus"], ["score", "a.csv"]])
def test_bad_commands(arguments: list[str], capsys: Output) -> None:
    assert "--help" in fails(capsys, *arguments)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n", "holds a header but no rows"),
        (b"", "is empty"),
        (b"a,b\n1\n", "line 2 has 1 cell,"),
        (b"a,a\n1,2\n", "'a' more than once"),
        (b"PAR1....", "content is a Parquet file"),
        (b"a,b\n1,\x81\n", "not UTF-8"),
        (b"id,b\n1,2\n2,2\n", "(--id id)"),
        (b"a,b\n1,\n2,\n", "'b' labels no object"),
        (b"a,b\n1,1\n,\n", "1 of 2 objects has no label in any member"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str, capsys: Output) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert message in fails(capsys, "consensus", path, "-k", "1")
    # an object without labels may be one that the labelling leaves outside, so that the labelling is read first
    expected = "has no column 'label'" if "no label in any member" in message else message
    assert expected in fails(capsys, "score", path, path)


def test_bad_places(table: Path, tmp_path: Path, capsys: Output) -> None:
    assert "there is no such file" in fails(capsys, "consensus", tmp_path / "nothing.csv", "-k", "2")
    (tmp_path / "folder.csv").mkdir()
    assert "holds no files of a table" in fails(capsys, "consensus", tmp_path / "folder.csv", "-k", "2")
    assert "a folder of that name" in fails(
        capsys, "consensus", table, *MEMBERS, "-k", "2", "-o", tmp_path / "folder.csv", "--force"
    )


def test_an_existing_output_needs_force(table: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "out.csv"
    out.write_text("dear\n")
    arguments = ["consensus", str(table), *MEMBERS, "-k", "3", "-o", str(out)]
    assert "(--force)" in fails(capsys, *arguments)
    assert out.read_text() == "dear\n"
    assert main([*arguments, "--force", "--quiet"]) == 0
    assert out.read_text().startswith("name,label")


def test_the_output_is_refused_before_the_work(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr("quorate.cli.work.load_labels", pytest.fail)
    (table.parent / "other.csv").write_text("")
    assert "exists already" in fails(capsys, "consensus", table, "-k", "3", "-o", table.parent / "other.csv")


def test_warnings_take_one_line(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("a,b\n1,1\nNA,2\n2,2\n")
    assert main(["consensus", str(path), "-k", "2", "--quiet"]) == 0
    assert capsys.readouterr().err == (
        "quorate: warning: column 'a' holds the text 'NA' as a label; pass missing=[-1, 'NA'] (--missing NA) "
        "if it means no label.\n"
    )
    assert main(["consensus", str(path), "-k", "2", "--quiet", "--missing", "NA"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (ValueError("two\n  lines"), 2, "two lines"),
    ],
)
def test_what_stops_it(
    error: BaseException, status: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def stop(_: argparse.Namespace) -> None:
        raise error

    monkeypatch.setattr("quorate.cli.label_commands.run_methods", stop)
    assert fails(capsys, "methods", status=status) == f"quorate: error: {line}\n"


# ---- the rest


def test_methods(capsys: Output) -> None:
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", *METHODS]
    assert main(["methods", "--json"]) == 0
    register = json.loads(capsys.readouterr().out)
    assert register["kmeans"]["reference"] == METHODS["kmeans"].reference
    assert set(register) == set(METHODS)


def test_help_and_version(capsys: Output) -> None:
    for arguments in (["--help"], ["consensus", "--help"], ["score", "-h"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
        assert "usage: quorate" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"quorate {quorate.__version__}\n"


def test_progress_is_told_once_it_takes_long(capsys: Output) -> None:
    shown = argparse.Namespace(quiet=False, no_progress=False, progress=True)
    with steps(shown)("thinking"):
        time.sleep(1.2)
    assert capsys.readouterr().err == "quorate: thinking ... 1 s\n"
    with steps(shown)("thinking"):
        pass
    with steps(argparse.Namespace(quiet=True, no_progress=False, progress=True))("thinking"):
        pass
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with steps(argparse.Namespace(quiet=False, no_progress=False, progress=False))("thinking"):
        time.sleep(1.1)
    assert terminal.getvalue().startswith("\r\x1b[Kquorate: thinking ... 1 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


def shell(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "quorate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


def test_a_real_pipe(table: Path) -> None:
    done = shell("consensus", "-", *MEMBERS, "-k", "3", "-o", "-", input=table.read_text())
    assert done.returncode == 0
    assert done.stdout.startswith("name,label,confidence\no0,0,")
    assert done.stderr.startswith("method       lwgp (auto: linear in rows, the best mean NMI")
    failed = shell("consensus", str(table.parent / "nothing.csv"), "-k", "3")
    assert failed.returncode == 2
    assert failed.stderr == f"quorate: error: cannot read {table.parent / 'nothing.csv'}: there is no such file.\n"


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,1\n2,2\n" * 50_000)
    command = f'"{sys.executable}" -m quorate consensus "{path}" -k 2 -o - --quiet | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "label,confidence\n"
    assert done.stderr == ""


HELP = """
import sys
from quorate.cli import main
try:
    main(["--help"])
except SystemExit:
    sys.exit(any(name in sys.modules for name in ("numpy", "numba", "json", "csv")))
"""


def test_help_loads_nothing_heavy() -> None:
    assert subprocess.run([sys.executable, "-c", HELP], check=False, capture_output=True).returncode == 0


def test_rows_are_coarsened_where_asked(table: Path, capsys: Output) -> None:
    base = ["consensus", str(table), "--id", "name", "--columns", "a,b,c,d", "-k", "2", "--json"]
    told = {}
    for extra in (["--coarsen", "0.5"], ["--coarsen", "0.5", "--keep", "0.9"], ["--coarsen", "auto"]):
        assert main([*base, *extra]) == 0
        told[extra[1], len(extra)] = json.loads(capsys.readouterr().out)["coarsen"]
    assert told["0.5", 2]["theta"] == 0.5
    assert told["0.5", 4]["keep"] == 0.9
    assert told["auto", 2]["why"]
    assert "--coarsen must be auto or a number" in fails(capsys, *base, "--coarsen", "much")
    assert "--keep needs --coarsen" in fails(capsys, *base, "--keep", "0.9")
    assert "theta must lie in" in fails(capsys, *base, "--coarsen", "7")


def test_options_of_the_shell_and_of_the_method_are_the_same(table: Path, capsys: Output) -> None:
    """`--option refine=true` was once ignored, because the shell's own --refine was taken to be off."""
    base = ["consensus", str(table), *MEMBERS, "-k", "2", "-m", "kmeans", "--json"]
    facts = []
    for extra in (["--refine"], ["--option", "refine=true"], []):
        assert main([*base, *extra]) == 0
        facts.append(json.loads(capsys.readouterr().out))
    assert facts[0]["objective"] == facts[1]["objective"] == facts[0]["scores"]["anmi"] != facts[2]["objective"]
    assert "--option refine is the same as --refine" in fails(capsys, *base, "--refine", "--option", "refine=true")
    both = fails(capsys, *base, "--no-confidence", "--option", "confidence=0")
    assert "--option confidence is the same as --no-confidence; give --no-confidence alone" in both
    assert "--option device is the same as --device" in fails(capsys, *base, "--option", "device=cpu")

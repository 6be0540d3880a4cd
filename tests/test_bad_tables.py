"""Bad tables and bad options: each is told in one line, with exit status 2, and nothing is written."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quorate
from quorate import Consensus, as_ensemble, consensus, evaluate, join, load_labels, nmi, refine, report
from quorate.cli import main

N = 60
NAMES = [f"c{number:02d}" for number in range(N)]
TRUTH = np.arange(N) % 3
GOOD = pd.DataFrame({"id": NAMES, "a": TRUTH, "b": (TRUTH + (np.arange(N) % 7 == 0)) % 3})
FRAME = GOOD.set_index("id")


def csv(frame: pd.DataFrame, **options: Any) -> bytes:
    text: str = frame.to_csv(index=False, **options)
    return text.encode()


def parquet(frame: pd.DataFrame) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), sink)
    found: bytes = sink.getvalue().to_pybytes()
    return found


OTHERS = GOOD.assign(id=[f"z{number}" for number in range(N)])
MEASURED = pd.DataFrame({"width": np.linspace(1, 2, N).round(2), "height": np.linspace(3, 9, N).round(2)})
FILES = {
    "good.csv": csv(GOOD),
    "good.parquet": parquet(GOOD),
    "part.csv": csv(GOOD.iloc[:40]),
    "others.csv": csv(OTHERS),
    "result.csv": csv(pd.DataFrame({"id": NAMES, "label": TRUTH})),
    "short.csv": csv(pd.DataFrame({"id": NAMES[3:], "label": TRUTH[3:]})),
    "long.csv": csv(pd.DataFrame({"id": [*NAMES, "new"], "label": [*TRUTH, 1]})),
    "twice.csv": csv(pd.concat([GOOD, GOOD.iloc[:1]])),
    "twice.parquet": parquet(pd.concat([GOOD, GOOD.iloc[:1]])),
    "measured.csv": csv(MEASURED),
    "comma.csv": csv(MEASURED, sep=";", decimal=","),
    "measured.parquet": parquet(MEASURED),
    "mixed.csv": csv(GOOD.assign(width=MEASURED.width)),
    "who.csv": csv(GOOD.rename(columns={"id": "who"})),
    "who.parquet": parquet(GOOD.rename(columns={"id": "who"})),
    "almost.csv": csv(GOOD.drop(columns="id").assign(code=[*range(N - 3), 1, 2, 3])),
    "empty_rows.csv": csv(GOOD.assign(a=GOOD.a.where(GOOD.index > 2), b=GOOD.b.where(GOOD.index > 2))),
    "nameless.csv": b"a,b\n" + b"1,2\n" * 20 + b",\n",
    "pipes.csv": csv(GOOD, sep="|"),
    "points.csv": b"x;y\n1,5;2\n1.234,5;3\n",
    "text.csv": b"x;y\n1,5;2\nlow;3\n",
    "cut16.csv": csv(GOOD).decode().encode("utf-16")[:-1],
    "latin.csv": "id,a\nä,1\n".encode("latin-1"),
    "fake.xlsx": b"id,a\n1,2\n",
    "zip.csv": gzip.compress(csv(GOOD)),
    "odd name.csv": csv(GOOD.rename(columns={"id": "the id, here"})),
    "labels.npy": b"",
}

SHELL = {
    # objects that cannot be matched
    "an object without a label": (
        "score good.csv short.csv --id id",
        "no label for 3 of 60 objects: 'c00', 'c01', 'c02'",
    ),
    "a label without an object": ("score good.csv long.csv --id id", "labels for 1 object that is not in the table"),
    "a report about other objects": ("report good.csv short.csv --id id -o page.html", "no label for 3 of 60 objects"),
    "an id twice": ("consensus twice.csv --id id -k 3 -o out.csv", "has the id 'c00' twice"),
    "an id twice in Parquet": ("consensus twice.parquet --id id -k 3 -o out.csv", "has the id 'c00' twice"),
    # what is no clustering
    "measurements": ("consensus measured.csv -k 3 -o out.csv", "quorate cluster measured.csv"),
    "measurements in Parquet": ("consensus measured.parquet -k 3 -o out.csv", "are measurements and not labels"),
    "measurements with decimal commas": ("consensus comma.csv -k 3 -o out.csv", "numbers such as 1,0, 1,02"),
    "one measurement": ("consensus mixed.csv --id id -k 3 -o out.csv", "column 'width' holds numbers such as 1.0"),
    "a named measurement": ("consensus mixed.csv --columns a,width -k 3 -o out.csv", "--drop width"),
    "measurements scored": ("score mixed.csv result.csv --id id", "column 'width' holds numbers"),
    "measurements reported": ("report mixed.csv result.csv --id id -o page.html", "column 'width' holds numbers"),
    "ids of another name": ("consensus who.csv -k 3 -o out.csv", "--id who"),
    "ids in Parquet": ("consensus who.parquet -k 3 -o out.csv", "a label of its own for each of the 60 objects"),
    "almost ids": ("consensus almost.csv -k 3 -o out.csv", "column 'code' has 57 labels for 60 objects"),
    "ids by name": ("consensus good.csv -k 3 -o out.csv", "pass ids='id' (--id id)"),
    # several sources
    "files without ids": ("consensus good.csv good.parquet -k 3 -o out.csv", "has a column named 'id'"),
    "one file without the id": ("consensus good.csv who.csv --id id -k 3 -o out.csv", "who.csv has no column 'id'"),
    "no object in common": (
        "consensus good.csv others.csv --id id -k 3 -o out.csv",
        "Do all tables use the same names?",
    ),
    "a file twice": ("consensus good.csv good.csv --id id -k 3 -o out.csv", "'good.csv' is named twice"),
    "a column in none": ("consensus good.csv part.csv --id id --drop cc -k 3", "none of the files has a column 'cc'"),
    "a file without columns": ("consensus good.csv part.csv --id id --columns z -k 3", "has none of the columns 'z'"),
    "standard input twice": ("consensus - - --id id -k 3", "only one of the files can come from standard input"),
    "an array without ids": ("consensus good.csv labels.npy --id id -k 3", "its content is empty"),
    "too many files": (
        "cluster features.csv good.csv -k 3",
        "the files it takes: features; several files of one table",
    ),
    "files apart": ("consensus good.csv -k 3 part.csv", "put all files next to one another"),
    # texts
    "a wrong separator": ("consensus good.csv --sep ; --id id -k 3 -o out.csv", "say what separates them (--sep ,)"),
    "a separator of two": ("consensus good.csv --sep ,, --id id -k 3", "must be one character"),
    "a letter as separator": ("consensus good.csv --sep a --id id -k 3", "must be one character"),
    "a separator for Parquet": ("consensus good.parquet --sep tab --id id -k 3", "is for text files"),
    "a separator for measured Parquet": ("cluster measured.parquet --sep tab -k 3", "is for text files"),
    "UTF-16 cut short": ("consensus cut16.csv --id id -k 3 -o out.csv", "is not UTF-8 or UTF-16 text"),
    "text as .xlsx": ("consensus fake.xlsx --id id -k 3 -o out.csv", "should be a .xlsx file by its name"),
    "gzip as .csv": ("consensus zip.csv --id id -k 3 -o out.csv", "its content is a gzip file"),
    "decimal mark of Parquet": ("consensus good.csv --id id -k 3 -o out.parquet --decimal comma", "are for text files"),
    "comma twice": ("consensus good.csv --id id -k 3 -o out.csv --decimal comma --out-sep comma", "must differ"),
    "unknown encoding": (
        "consensus good.csv --id id -k 3 -o out.csv --encoding klingon",
        "must be one that Python knows",
    ),
    "wrong encoding": ("consensus latin.csv --id id -k 1 -o out.csv --encoding utf-8", "is not utf-8 text"),
    "points and decimal commas": ("cluster points.csv -k 2 -o out.csv", "column 'x' holds '1.234,5' in data row 2"),
    "a text among measurements": ("cluster text.csv -k 2 -o out.csv", "column 'x' holds 'low' in data row 2"),
    "labels clustered": ("cluster good.csv -k 3 -o out.csv", "cluster without the column (--drop id)"),
    # columns
    "an unknown column": ("consensus good.csv --id id --columns a,bb -k 3", "has no column 'bb'"),
    "a mistyped column": ("consensus good.csv --id idd -k 3 -o out.csv", "(did you mean 'id'?)"),
    "a column to drop": (
        "consensus good.csv --id id --drop c -k 3",
        "has no column 'c'; its columns are 'id', 'a', 'b'",
    ),
    "nothing left": (
        "consensus good.csv --id id --drop a,b -k 3",
        "has no column other than the ids 'id' and 'a', 'b'",
    ),
    "dropped and named": ("consensus good.csv --id id --columns a --drop a -k 3", "named in columns and in drop"),
    "a measurement to drop": ("generate measured.csv --drop widht -o out.npz", "(did you mean 'width'?)"),
    "an odd id": ("consensus 'odd name.csv' -k 3 -o out.csv", "--id 'the id, here'"),
    # objects without labels
    "objects without labels": ("consensus empty_rows.csv --id id -k 3 -o out.csv", "--skip-empty"),
    "no names to skip by": ("consensus nameless.csv --skip-empty -k 1 -o out.csv", "name the objects with ids= (--id)"),
    # options
    "a mistyped option": ("consensus good.csv --idd id -k 3", "(did you mean '--id'?)"),
    "a mistyped command": ("consenus good.csv", "(did you mean 'consensus'?)"),
    "a mistyped method": ("consensus good.csv --id id -k 3 -m kmean -o out.csv", "(did you mean 'kmeans'?)"),
    "a mistyped method option": (
        "consensus good.csv --id id -k 3 -m kmeans --option n_int=3 -o out.csv",
        "has no option 'n_int' (did you mean 'n_init'?)",
    ),
    "a wrong unit": ("consensus good.csv --id id -k 3 --max-bytes 1XB", "a number of bytes such as 8e9 or 8GB"),
    "no number of bytes": ("consensus good.csv --id id -k 3 --max-bytes GB", "got 'GB'"),
    "a weight for nobody": (
        "consensus good.csv --id id -k 3 --weights a=2,z=1",
        "weights name 'z', which is no member",
    ),
    "a weight that is no number": ("consensus good.csv --id id -k 3 --weights a=two", "--weights a must be a number"),
    "a weight twice": ("consensus good.csv --id id -k 3 --weights a=2,a=3", "NAME=NUMBER for each name once"),
    "a weight of nothing": ("consensus good.csv --id id -k 3 --weights a=0", "weights must be positive"),
    "a number to choose": ("score good.csv result.csv --id id --sep xx", "must be one character"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", SHELL)
def test_shell(case: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    command, message = SHELL[case]
    assert main(shlex.split(command.replace("--sep ;", "--sep ';'"))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    *warned, told = captured.err.splitlines()
    assert all(line.startswith("quorate: warning: ") for line in warned)
    assert told.startswith("quorate: error: ")
    assert message in told
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES


SHUFFLED = FRAME.sample(frac=1, random_state=0)
PLAIN = FRAME.reset_index(drop=True)
DOUBLE = pd.concat([FRAME, FRAME.iloc[:1]])


# computed when a test asks for them: every worker collects every file
@cache
def named() -> Consensus:
    return consensus(FRAME, 3, random_state=0)


@cache
def not_named() -> Consensus:
    return consensus(PLAIN, 3, random_state=0)


class AnnDataLike:
    """What quorate knows an AnnData object by."""

    obs = FRAME
    var = FRAME
    obsm: dict[str, Any] = {}  # noqa: RUF012
    X = np.zeros((N, 2))


def fit(name: str) -> Callable[[], Any]:
    return lambda: getattr(quorate, name)().fit(AnnDataLike())


PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "fewer objects": (lambda: evaluate(named(), FRAME.iloc[:-2]), "labels for 2 objects that are not .*'c58', 'c59'"),
    "more objects": (
        lambda: evaluate(named(), pd.concat([FRAME, FRAME.iloc[:1].rename({"c00": "n"})])),
        "1 of 61 .*'n'",
    ),
    "other objects": (
        lambda: evaluate(named(), FRAME.rename(lambda name: name + "x")),
        "no label for 60 of 60 objects",
    ),
    "a shuffled default index": (lambda: evaluate(not_named(), PLAIN.sample(frac=1, random_state=1)), "reset_index"),
    "a shuffled Series": (lambda: evaluate(PLAIN.a.sample(frac=1, random_state=1), PLAIN), "sort_index"),
    "a truth of others": (lambda: evaluate(named(), FRAME, truth=FRAME.a.iloc[1:]), "in truth there is no label for 1"),
    "two Series": (lambda: nmi(FRAME.a, FRAME.b.iloc[2:]), "in second there is no label for 2 of 60"),
    "the end of a list": (lambda: evaluate(named(), FRAME.rename(lambda name: name + "x")), r"[^.]\.\.\.$"),
    "a list of tables": (lambda: join([FRAME, FRAME]), "is a list of tables; give them one by one"),
    "a path to place": (lambda: quorate.stream.place("labels", [GOOD]), "what quorate.stream.consensus returned"),
    "a start of others": (lambda: refine(FRAME.a.iloc[5:], FRAME), "no label for 5 of 60"),
    "a report of others": (lambda: report(named(), FRAME.iloc[1:], "never.html"), "1 object that is not in the table"),
    "a picture of others": (lambda: quorate.plot.consensus_heatmap(named(), FRAME.iloc[1:]), "not in the table"),
    "a dict of Series": (lambda: as_ensemble({"a": FRAME.a, "b": FRAME.b.iloc[4:]}), "'b' .*4 of 60.*quorate.join"),
    "a list of Series": (lambda: as_ensemble([FRAME.a, FRAME.b.iloc[4:]], orientation="members"), "4 of 60"),
    "a mixed dict": (lambda: as_ensemble({"a": FRAME.a, "b": [1, 2]}), "ragged"),
    "memberships": (lambda: consensus([pd.get_dummies(FRAME.a), FRAME.b.iloc[1:]], 3), "no label for 1 of 60"),
    "an index twice": (lambda: as_ensemble(DOUBLE), "the index has the id 'c00' twice.*reset_index"),
    "a Series index twice": (lambda: nmi(DOUBLE.a, DOUBLE.b), "the index has the id 'c00' twice"),
    "ids twice": (lambda: as_ensemble(PLAIN, ids=["x"] * N), "ids has the id 'x' twice"),
    "ids twice in Polars": (
        lambda: as_ensemble(pl.from_pandas(DOUBLE.reset_index()), ids="id"),
        "column 'id' has the id",
    ),
    "an empty id": (lambda: as_ensemble(PLAIN, ids=[*NAMES[1:], ""]), "has no id"),
    "an index in generate": (lambda: quorate.generate(DOUBLE.astype(float)), "the index has the id 'c00' twice"),
    "an unknown id column": (lambda: as_ensemble(GOOD, ids="idd"), r"not a column \(did you mean 'id'\?\)"),
    "an id column in Arrow": (lambda: as_ensemble(pa.Table.from_pandas(GOOD), ids="key"), "is not a column"),
    "an index as member": (lambda: as_ensemble(FRAME.reset_index()), "column 'id' has a label of its own"),
    "almost an index": (lambda: as_ensemble(PLAIN.assign(code=[*range(N - 3), 1, 2, 3])), "57 labels for 60 objects"),
    "an array of measurements": (lambda: as_ensemble(MEASURED.to_numpy()), "are measurements and not labels"),
    "a frame of measurements": (lambda: consensus(MEASURED, 3), "quorate.generate"),
    "negative measurements": (lambda: as_ensemble(-MEASURED), "a measurement and not a label"),
    "a measurement beside labels": (lambda: evaluate(TRUTH, PLAIN.assign(size=MEASURED.width)), "column 'size'"),
    "decimal commas": (lambda: as_ensemble(MEASURED.astype(str).replace(r"\.", ",", regex=True)), "measurements"),
    "AnnData to an estimator": (fit("EnsembleClustering"), "got an AnnData object"),
    "AnnData as labels": (fit("ConsensusClustering"), "consensus_anndata"),
    "AnnData to generate": (lambda: quorate.generate(AnnDataLike()), "adata.obsm"),
    "AnnData to consensus": (lambda: consensus(AnnDataLike(), 3), "got an AnnData object"),
    "join of nothing": (lambda: join(), "at least one table"),
    "join without ids": (lambda: join(FRAME, PLAIN), "table 1 does not name its objects"),
    "join of strangers": (lambda: join(FRAME, FRAME.rename(lambda name: name + "x")), "use the same names"),
    "join of rows": (lambda: join(quorate.compress(as_ensemble(FRAME))[0]), "does not name its objects"),
    "join of measurements": (
        lambda: join(FRAME, MEASURED.set_index(FRAME.index)),
        "table 1: columns 'width', 'height'",
    ),
    "join of a gap": (lambda: join(FRAME.assign(a=None, b=None, c=1).iloc[:, :2], FRAME), "label no object at all"),
    "no file": (lambda: load_labels([]), "at least one file"),
    "a weight for nobody": (lambda: consensus(FRAME, 3, weights={"aa": 1}), "weights name 'aa'"),
    "weights of a Series": (lambda: consensus(FRAME, 3, weights=pd.Series({"a": 1, "z": 2})), "weights name 'z'"),
    "a wide table": (lambda: consensus(np.zeros((2, 5), dtype=int), 1), "orientation='members'"),
    "an orientation": (lambda: consensus(FRAME, 3, orientation="rows"), "orientation must be one of"),
    "an orientation of soft members": (
        lambda: consensus([pd.get_dummies(FRAME.a)], 3, orientation="members"),
        "orientation must be None with soft members",
    ),
    "a negative label": (lambda: consensus(FRAME.replace(0, -7), 3), r"missing=\[-7\] \(--missing=-7\)"),
    "missing for an Ensemble": (lambda: consensus(as_ensemble(FRAME), 3, missing=0), "an Ensemble already"),
    "ids of another length": (lambda: consensus(PLAIN, 3, ids=NAMES[1:]), "one value per object, 60 in all"),
}


@pytest.mark.parametrize("case", PYTHON)
def test_python(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run, message = PYTHON[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        run()
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []

"""Options of tables that hold for blocks as for tables in memory: noise, objects without labels, and encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensembles import noisy

import quorate
from quorate import load_labels, stream
from quorate._stream import running
from quorate.cli import main

NOISE = -1


def table(seed: int, n: int = 240) -> np.ndarray[Any, Any]:
    """Labels in which -1 is noise and 9 a gap; some objects are noise for all, and some have gaps alone."""
    rng = np.random.default_rng(seed)
    labels = noisy(seed, n=n, k=3, members=5, missing=0.15).astype(np.int64)
    labels[labels < 0] = 9
    labels[rng.random(labels.shape) < 0.1] = NOISE
    labels[:7] = NOISE
    labels[3, 1] = 2
    return labels


def blocks_of(labels: np.ndarray[Any, Any], size: int = 50) -> list[np.ndarray[Any, Any]]:
    return [labels[start : start + size] for start in range(0, len(labels), size)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep", [False, "keep"])
def test_noise_in_blocks_is_noise_in_memory(seed: int, keep: Any) -> None:
    labels = table(seed)
    if keep:
        labels[20:25] = 9
    options: dict[str, Any] = {"noise": NOISE, "missing": 9, "skip_empty": keep}
    wanted = quorate.consensus(labels, 3, random_state=0, **options)
    found = stream.consensus(blocks_of(labels), 3, random_state=0, **options)
    got = found.in_memory()
    assert np.array_equal(got.labels, wanted.labels)
    assert (got.labels[:3] == -1).all()
    np.testing.assert_allclose(got.confidence, wanted.confidence, rtol=1e-12, equal_nan=True)
    assert found.solution.info["outside"] == wanted.info["outside"] >= 6
    assert found.sizes.sum() == len(labels) - wanted.info["outside"]
    assert found.n_objects == len(labels)
    assert [block.labels.tolist() for block in found.blocks()] == [part.tolist() for part in blocks_of(wanted.labels)]
    of_blocks = stream.evaluate(found)
    in_memory = quorate.evaluate(wanted, quorate.as_ensemble(labels, **options))
    assert of_blocks.anmi == pytest.approx(in_memory.anmi, rel=1e-12)


def test_rows_that_differ_in_noise_alone_stay_apart() -> None:
    labels = np.array([[0, -1], [0, 9], [0, 0], [1, 1]] * 3)
    rows = stream.compress([labels[:5], labels[5:]], noise=-1, missing=9)
    assert rows.labels.tolist() == [[0, -1], [0, -1], [0, 0], [1, 1]]
    assert rows.noise is not None
    assert rows.noise.tolist() == [[False, True], [False, False], [False, False], [False, False]]
    assert rows.counts.tolist() == [3, 3, 3, 3]


def test_weights_learnt_beside_noise_leave_members_out(tmp_path: Path) -> None:
    labels = table(0, n=607)[7:]
    labels = np.column_stack([labels, np.random.default_rng(1).integers(4, size=(600, 30))])
    options: dict[str, Any] = {"noise": NOISE, "missing": 9, "weights": "auto"}
    wanted = quorate.as_ensemble(labels, **options)
    assert wanted.n_members < labels.shape[1]
    assert wanted.noise is not None
    assert wanted.noise.shape == wanted.labels.shape
    found = stream.compress(blocks_of(labels), **options)
    assert found.member_names == wanted.member_names
    assert found.noise is not None
    assert found.noise.shape == found.labels.shape
    frame = {f"m{place}": column.tolist() for place, column in enumerate(labels.T)}
    path = tmp_path / "labels.csv"
    path.write_text(",".join(frame) + "\n" + "\n".join(",".join(map(str, row)) for row in labels.tolist()) + "\n")
    loaded = load_labels(path, **options)
    assert loaded.noise is not None
    assert loaded.noise.shape == loaded.labels.shape


def test_objects_without_labels_are_kept_and_refused_in_blocks() -> None:
    labels = noisy(1, n=90, k=3, members=4)
    labels[10:13] = -1
    found = stream.consensus(blocks_of(labels, 20), 3, skip_empty="keep", random_state=0)
    wanted = quorate.consensus(labels, 3, skip_empty="keep", random_state=0)
    assert np.array_equal(found.in_memory().labels, wanted.labels)
    assert found.in_memory().labels[10:13].tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match=r"3 of 90 objects have no label in any member.*--keep-empty"):
        stream.consensus(blocks_of(labels, 20), 3)
    with pytest.raises(ValueError, match="skip_empty must be"):
        stream.consensus(blocks_of(labels, 20), 3, skip_empty="always")
    with pytest.raises(ValueError, match="no member labels any object"):
        stream.consensus([np.full((5, 2), -1)], 3, skip_empty="keep")


def write_csv(path: Path, labels: np.ndarray[Any, Any], encoding: str = "utf-8", first: int = 0) -> None:
    header = "Nr," + ",".join(f"é{place}" for place in range(labels.shape[1]))
    rows = [f"ä{number}," + ",".join(map(str, row)) for number, row in enumerate(labels.tolist(), first)]
    path.write_text("\n".join([header, *rows]) + "\n", encoding=encoding)


def test_an_interrupted_run_remembers_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = table(2)
    for part, rows in enumerate(blocks_of(labels, 80)):
        write_csv(tmp_path / f"p{part}.csv", rows, first=80 * part)
    source = [tmp_path / f"p{part}.csv" for part in range(3)]
    options: dict[str, Any] = {"ids": "Nr", "noise": -1, "missing": 9, "random_state": 0}
    wanted = stream.consensus(source, 3, **options).in_memory()

    def fail(*given: Any) -> None:
        raise OSError("no space")

    with monkeypatch.context() as broken:
        broken.setattr(running, "write_labels", fail)
        with pytest.raises(OSError, match="no space"):
            stream.consensus(source, 3, out=tmp_path / "out.csv", **options)
    again = stream.consensus(source, 3, out=tmp_path / "out.csv", **options)
    assert again.ensemble.noise is not None
    written = [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert [int(label) if label else -1 for label in written] == wanted.labels.tolist()


@pytest.mark.parametrize("encoding", ["cp1252", "latin2", "utf-16"])
def test_text_files_in_blocks_have_the_encoding_that_is_given(tmp_path: Path, encoding: str) -> None:
    path, labels = tmp_path / "labels.csv", noisy(0, n=60, k=3, members=3)
    write_csv(path, labels, encoding)
    found = stream.consensus(path, 3, ids="Nr", encoding=encoding, random_state=0)
    assert found.ensemble.member_names == ("é0", "é1", "é2")
    ids = found.in_memory().object_ids
    assert ids is not None
    assert ids[:2].tolist() == ["ä0", "ä1"]
    ensemble = load_labels(path, ids="Nr", encoding=encoding)
    assert np.array_equal(found.in_memory().labels, quorate.consensus(ensemble, 3, random_state=0).labels)
    assert stream.compress(path, ids="Nr", encoding=encoding).n_objects == 60
    with pytest.raises(ValueError, match=r"is not utf-8 text|is not UTF-8|NUL|no column"):
        stream.consensus(path, 3, ids="Nr", encoding="utf-8")


def test_an_encoding_of_what_is_no_text_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", noisy(0, n=30))
    with pytest.raises(ValueError, match=r"encoding \(--encoding\) is for text files, and .* is \.npy"):
        stream.consensus(tmp_path / "labels.npy", 3, encoding="latin2")
    with pytest.raises(ValueError, match=r"encoding \(--encoding\) is for text files, and the source is no file"):
        stream.consensus([noisy(0, n=30)], 3, encoding="latin2")
    write_csv(tmp_path / "labels.csv", noisy(0, n=30))
    with pytest.raises(ValueError, match="must be one that Python knows"):
        stream.consensus(tmp_path / "labels.csv", 3, ids="Nr", encoding="klingon")


def shell(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
    return dict(json.loads(capsys.readouterr().out))


def test_the_shell_takes_noise_and_encodings_in_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "labels.csv", tmp_path / "out"
    write_csv(path, table(3), "cp1252")
    words = [str(path), "--id", "Nr", "-k", "3", "--no-null", "--noise", "-1", "--missing", "9", "--encoding", "cp1252"]
    facts = shell(capsys, "consensus", *words, "-o", str(out), "--memory", "100MB")
    plain = shell(capsys, "consensus", *words, "-o", str(tmp_path / "plain.csv"))
    assert facts["outside"] == plain["outside"] > 0
    assert facts["sizes"] == plain["sizes"]
    of_table = ["--id", "Nr", "--memory", "100MB", "--encoding", "cp1252"]
    assert main(["score", str(path), str(out), *of_table, "--noise", "-1"]) == 2
    assert "--missing reads such labels as missing" in capsys.readouterr().err
    write_csv(path, noisy(4, n=90, k=3, members=4), "cp1252")
    shell(capsys, "consensus", str(path), "-k", "3", "--no-null", *of_table, "-o", str(tmp_path / "few.csv"))
    scored = shell(capsys, "score", str(path), str(tmp_path / "few.csv"), "--no-null", *of_table)
    assert scored["n_clusters"] == 3


def test_measurements_in_blocks_have_an_encoding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(size=(80, 2)) + 8 * (np.arange(80) % 2)[:, None]
    path = tmp_path / "points.csv"
    rows = [f"ä{number},{x},{y}" for number, (x, y) in enumerate(X.tolist())]
    path.write_text("\n".join(["Nr,größe,länge", *rows]) + "\n", encoding="cp1250")
    reading: dict[str, Any] = {"ids": "Nr", "encoding": "cp1250", "random_state": 0}
    made = stream.generate(path, 3, k=2, base="kmeans", **reading)
    assert made.ensemble.n_objects == 80
    result = stream.cluster(path, 2, n_members=3, base="kmeans", **reading)
    assert sorted(result.sizes.tolist()) == [40, 40]
    words = ["cluster", str(path), "-k", "2", "--id", "Nr", "--members", "3", "--memory", "100MB", "--no-null"]
    facts = shell(capsys, *words, "--encoding", "cp1250", "-o", str(tmp_path / "out.csv"))
    assert sorted(facts["sizes"]) == [40, 40]
    assert main([*words, "--encoding", "nonsense", "-o", str(tmp_path / "other.csv")]) == 2

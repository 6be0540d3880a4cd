"""Paths that cannot be, and files written whole or not at all."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_io import FORMATS, NAMED, write

from quorate import Consensus, load_labels, save_labels
from quorate._io import aside, write_aside
from quorate._io.aside import write_folder_aside

# ---- paths


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        load_labels(tmp_path / "nothing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"it is a folder, and a \.csv file was expected"):
        load_labels(tmp_path / "folder.csv")
    write(tmp_path, "a\n1\n", "file")
    for name in ("file", "labels.xls", "labels.npy.gz", ".csv"):
        with pytest.raises(ValueError, match=r"must end in \.csv"):
            load_labels(tmp_path / name)


def test_a_path_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a\n1\n")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match=r"cannot read .*labels.csv: Permission denied"):
        load_labels(path)
    with pytest.raises(PermissionError, match=r"cannot write .*out.csv: Permission denied"):
        save_labels(tmp_path / "out.csv", [0, 1])


# ---- writing


def a_consensus() -> Consensus:
    return Consensus(
        labels=np.array([0, 1, 0], dtype=np.int32),
        objective=1.0,
        confidence=np.array([1.0, 2 / 3, 0.5]),
        object_ids=np.array(["x", "y, z", "é"]),
    )


def test_a_consensus_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save_labels(path, a_consensus())
    assert path.read_bytes().decode() == 'id,label,confidence\nx,0,1.0\n"y, z",1,0.666667\né,0,0.5\n'


@pytest.mark.parametrize("suffix", NAMED)
def test_a_consensus_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    save_labels(path, a_consensus(), name="segment")
    back = load_labels(path, ids=None if suffix in ("npz", "zarr") else "id", columns=["segment"])
    assert back.labels[:, 0].tolist() == [0, 1, 0]
    assert back.member_names == ("segment",)
    assert back.object_ids is not None
    assert back.object_ids.tolist() == ["x", "y, z", "é"]


def test_labels_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_labels("-", [0, -1, 10**12])
    assert capsys.readouterr().out == 'label\n0\n""\n1000000000000\n'
    save_labels(tmp_path / "a.npy", np.array([0, 1, 1]))
    assert load_labels(tmp_path / "a.npy").labels[:, 0].tolist() == [0, 1, 1]
    save_labels(tmp_path / "a.parquet", np.array([0, -1, 3]), ids=[10, 20, 30])
    with pytest.raises(ValueError, match="1 of 3 objects has no label"):
        load_labels(tmp_path / "a.parquet", ids="id")


@pytest.mark.parametrize(
    ("labels", "options", "error", "message"),
    [
        ([[0, 1]], {}, ValueError, "one label per object, got an array of shape"),
        ([], {}, ValueError, "one label per object"),
        ([0.5, 1], {}, TypeError, "labels must be integers"),
        ([True, False], {}, TypeError, "labels must be integers"),
        ([0, -2], {}, ValueError, r"-1 \(missing\) or larger, got -2"),
        ([0, 1], {"ids": ["a"]}, ValueError, "one value per object, 2 in all"),
        ([0, 1], {"ids": ["a", "a"]}, ValueError, "has the id 'a' twice"),
        ([0, 1], {"name": "id"}, ValueError, "name must differ"),
    ],
)
def test_labels_refused(
    tmp_path: Path, labels: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        save_labels(tmp_path / "a.csv", labels, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_existing_file_is_left_alone(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    save_labels(path, [0, 1, 1])
    with pytest.raises(FileExistsError, match=r"exists already .* overwrite=True"):
        save_labels(path, [0, 1, 2])
    assert load_labels(path).n_clusters.tolist() == [2]
    save_labels(path, [0, 1, 2], overwrite=True)
    assert load_labels(path).n_clusters.tolist() == [3]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", FORMATS)
def test_places_that_cannot_be_written(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist; make it first"):
        save_labels(tmp_path / "nowhere" / f"a.{suffix}", [0, 1])
    write(tmp_path, "", "file")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        save_labels(tmp_path / "file" / f"a.{suffix}", [0, 1])
    (tmp_path / f"a.{suffix}").mkdir()
    write(tmp_path, "dear", f"a.{suffix}/photograph")
    with pytest.raises(IsADirectoryError, match="a folder of that name is there"):
        save_labels(tmp_path / f"a.{suffix}", [0, 1], overwrite=True)
    assert (tmp_path / f"a.{suffix}" / "photograph").read_text() == "dear"


def test_a_failing_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = write(tmp_path, "old", "a.csv")

    def fail(file: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"cannot write .*a.csv: No space left on device"):
        write_aside(path, fail, overwrite=True)
    assert path.read_text() == "old"
    with pytest.raises(OSError, match="No space left"):
        write_aside(tmp_path / "b.csv", fail, overwrite=False)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_an_interrupted_write_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    save_labels(path, [0, 1])

    def interrupt(folder: Path) -> None:
        folder.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder_aside(path, interrupt, overwrite=True)
    assert load_labels(path).n_objects == 2
    with pytest.raises(FileNotFoundError):
        write_folder_aside(path, lambda folder: None, overwrite=True)
    assert load_labels(path).n_objects == 2
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, link = write(tmp_path, "old", "real.csv"), tmp_path / "link.csv"
    link.symlink_to(real)
    save_labels(link, [0, 1], overwrite=True)
    assert link.is_symlink()
    assert real.read_text() == "label\n0\n1\n"


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    save_labels(tmp_path / "a.csv", [0, 1])
    plain = write(tmp_path, "", "plain")
    assert (tmp_path / "a.csv").stat().st_mode == plain.stat().st_mode


def test_the_same_labels_make_the_same_file(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        save_labels(tmp_path / name, [0, 1])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_signal_just_after_a_file_was_opened_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(path: Path, mode: str) -> None:
        open(path, mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(aside, "open", opened, raising=False)
    with pytest.raises(KeyboardInterrupt):
        aside.write_aside(tmp_path / "out.csv", lambda file: None, overwrite=False)
    assert list(tmp_path.iterdir()) == []
    assert aside._being_written == {}


def test_a_process_that_ends_at_once_removes_what_it_writes_to_a_checkpoint(tmp_path: Path) -> None:
    with contextlib.suppress(FileNotFoundError), aside.made_anew(tmp_path / ".member-000000.1.part") as file:
        file.write(b"half a member")
        aside.remove_own()
        assert list(tmp_path.iterdir()) == []
    assert aside._being_written == {}


def test_a_strangers_file_with_the_name_of_a_part_stays(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("mine")
    with pytest.raises(FileExistsError), aside.made_anew(tmp_path / "part"):
        pass
    assert (tmp_path / "part").read_text() == "mine"

"""Resume: after kill -9, after Ctrl-C, and never from another run's members."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans as SklearnKMeans

import quorate
from quorate.generation import KMeans, Share, checkpoint, runner
from quorate.generation.checkpoint import describe, fingerprint

# the members of this file are those of the built-in k-means, where a test names no other base
generate = partial(quorate.generate, base="kmeans")

X = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)

# Each member takes a while, so that there is a middle to be killed in.
SLOW = """
import sys, time
import numpy as np
from quorate import generate

def slow(X, k, rng):
    time.sleep(0.25)
    return rng.integers(k, size=len(X))

if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
    print("ready", flush=True)
    try:
        generate(X, 8, k=(3, 6), base=slow, random_state=1, checkpoint=sys.argv[1], n_jobs=int(sys.argv[2]))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def members(folder):
    return sorted(folder.glob("member-*.npy"))


def start(script, tmp_path, *arguments):
    path = tmp_path / "slow.py"
    path.write_text(textwrap.dedent(script))
    return subprocess.Popen(
        [sys.executable, str(path), *map(str, arguments)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(folder, n_members, process):
    until = time.monotonic() + 60
    while len(members(folder)) < n_members:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)


def test_after_kill_the_same_call_makes_only_what_is_missing(tmp_path):
    folder = tmp_path / "run"
    process = start(SLOW, tmp_path, folder, 1)
    wait_for(folder, 2, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    stored = {path: path.stat().st_mtime_ns for path in members(folder)}
    assert 2 <= len(stored) < 8
    again = start(SLOW, tmp_path, folder, 1)
    assert again.communicate()[0] == "ready\n"
    assert len(members(folder)) == 8
    assert {path: path.stat().st_mtime_ns for path in stored} == stored
    generate(
        X, 8, k=(3, 6), base=lambda X, k, rng: rng.integers(k, size=len(X)), random_state=1, checkpoint=tmp_path / "w"
    )
    for mine, other in zip(members(folder), members(tmp_path / "w"), strict=True):
        assert np.array_equal(np.load(mine), np.load(other))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished(tmp_path, n_jobs):
    folder = tmp_path / "run"
    process = start(SLOW, tmp_path, folder, n_jobs)
    wait_for(folder, 1, process)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert "interrupted" in out
    assert 1 <= len(members(folder)) < 8


def test_stop_flag_ends_built_in_members():
    from quorate.generation.features import WHOLE, as_features
    from quorate.generation.kmeans import assign, train
    from quorate.ops.threads import Stop, StoppedError

    stop = Stop()
    stop.set()
    features = as_features(X)
    with pytest.raises(StoppedError):
        train(features, (None, WHOLE), 3, np.random.default_rng(0), KMeans(), stop)
    with pytest.raises(StoppedError):
        assign(features, (None, WHOLE), [np.zeros((2, 4), dtype=np.float32)], stop)


@pytest.mark.parametrize("data", [X, csr_array(X * (X > 0))], ids=["dense", "sparse"])
def test_resumed_equals_uninterrupted(tmp_path, data):
    options = {"k": (3, 9), "rows": Share(0.7, fill=True), "random_state": 5}
    expected = generate(data, 7, **options)
    stored = generate(data, 7, **options, checkpoint=tmp_path)
    for path in members(tmp_path)[2:5]:
        path.unlink()
    resumed = generate(data, 7, **options, checkpoint=tmp_path)
    for other in (stored, resumed):
        assert np.array_equal(expected.labels, other.labels)
        assert expected.info == other.info
    assert len(members(tmp_path)) == 7


def test_a_complete_checkpoint_is_read_not_made(tmp_path, monkeypatch):
    first = generate(X, 5, checkpoint=tmp_path)
    monkeypatch.setattr(runner, "run_members", lambda *_: pytest.fail("nothing was missing"))
    # without a seed the stored one is taken up again
    assert np.array_equal(first.labels, generate(X, 5, checkpoint=tmp_path).labels)


def test_a_spoilt_member_is_made_again(tmp_path):
    first = generate(X, 5, random_state=0, checkpoint=tmp_path)
    paths = members(tmp_path)
    paths[0].write_bytes(paths[0].read_bytes()[:100])
    paths[1].write_bytes(b"")
    damaged = bytearray(paths[2].read_bytes())
    damaged[200] ^= 255
    paths[2].write_bytes(bytes(damaged))
    (tmp_path / ".member-000004.99.part").write_bytes(b"half")
    assert np.array_equal(first.labels, generate(X, 5, random_state=0, checkpoint=tmp_path).labels)
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": X + 1}, "the data were 400 x 4 float32"),
        ({"X": X.astype(np.float64)}, "and are 400 x 4 float64"),
        ({"n_members": 6}, "n_members was 5 and is 6"),
        ({"k": (3, 8)}, r"k was \[3, 7\] and is \[3, 8\]"),
        ({"rows": 0.5}, "rows was 1.0 and is 0.5"),
        ({"columns": 2}, "columns was 1.0 and is 2"),
        ({"base": KMeans("k-means++")}, "base was 'kmeans' and is quorate.generation.kmeans.KMeans"),
        ({"base": SklearnKMeans(3)}, "n_clusters: 3"),
        ({"random_state": 2}, "random_state stood for seed 1 and stands for 2"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change, words):
    options = {"X": X, "n_members": 5, "k": (3, 7), "random_state": 1, "checkpoint": tmp_path}
    generate(**options)
    before = [path.read_bytes() for path in members(tmp_path)]
    with pytest.raises(ValueError, match=f"belongs to another run: .*{words}"):
        generate(**{**options, **change})
    assert [path.read_bytes() for path in members(tmp_path)] == before


def test_another_version_is_refused(tmp_path, monkeypatch):
    generate(X, 2, random_state=1, checkpoint=tmp_path)
    monkeypatch.setattr(checkpoint, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"written by quorate .*, this is 99.0"):
        generate(X, 2, random_state=1, checkpoint=tmp_path)


def test_other_folders_and_files_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="is a file; name a folder"):
        generate(X, 2, checkpoint=tmp_path / "file")
    with pytest.raises(ValueError, match=r"is no checkpoint: it has no manifest.json, but 'file'"):
        generate(X, 2, checkpoint=tmp_path)
    folder = tmp_path / "deep" / "er"
    generate(X, 2, checkpoint=folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        generate(X, 2, checkpoint=folder)


def test_the_manifest_says_what_it_is(tmp_path):
    generate(X, 2, k="sqrt", random_state=3, checkpoint=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["seed"] == "3"
    assert manifest["options"]["k"] == "'sqrt'"
    assert manifest["data"] == fingerprint(X)


def test_fingerprints_differ_where_the_data_do():
    other = X.copy()
    other[399, 3] += 1
    prints = [fingerprint(data) for data in (X, other, X[:399], X.T, csr_array(X), csr_array(other))]
    assert len(set(prints)) == 6
    assert fingerprint(np.asfortranarray(X)) == fingerprint(X)


def test_descriptions_differ_where_the_options_do():
    def one(X, k, rng):
        return k + 1

    def two(X, k, rng):
        return k + 2

    options = [None, 1, 1.0, "1", (1, 2), range(1, 2), KMeans(), KMeans(sample=None), SklearnKMeans(), one, two]
    options += [SklearnKMeans(init=np.zeros((2, 2))), SklearnKMeans(init=np.ones((2, 2))), {"rule": "sqrt"}]
    assert len({describe(option) for option in options}) == len(options)
    assert describe(SklearnKMeans(4)) == describe(SklearnKMeans(4))
    assert describe(np.int64(3)) == describe(3)


def checksum(path, labels, facts):
    """As of the run in this folder, for the member of this number."""
    manifest = json.loads((path.parent / checkpoint.MANIFEST).read_text())
    store = checkpoint.Checkpoint(path.parent, None, manifest, 0)
    return store._checksum(int(path.stem.split("-")[1]), labels, facts)


def spoil(path, labels, facts):
    """A stored member with other content under a right checksum."""
    with open(path, "wb") as file:
        np.save(file, labels)
        file.write(checksum(path, labels, facts) + b"\n" + facts)


@pytest.mark.parametrize(
    ("labels", "facts"),
    [
        (np.full(400, 100, dtype=np.int8), b'{"n_clusters": 3}'),
        (np.full(400, -7, dtype=np.int8), b'{"n_clusters": 3}'),
        (np.zeros(400, dtype=np.int8), b'{"n_clusters": 0}'),
        (np.zeros(400, dtype=np.int8), b'{"n_clusters": 4e99}'),
        (np.zeros(400, dtype=np.int8), b'{"n_clusters": 1000000000000}'),
        (np.zeros(400, dtype=np.int8), b"{}"),
        (np.zeros(400, dtype=np.int8), b"[1]"),
        (np.zeros(400, dtype=np.int8), b"not json"),
        (np.zeros(400, dtype=np.int8), b"[" * 100_000),
        (np.zeros(399, dtype=np.int8), b'{"n_clusters": 3}'),
        (np.zeros((400, 1), dtype=np.int8), b'{"n_clusters": 3}'),
        (np.zeros(400), b'{"n_clusters": 3}'),
        (np.zeros(400, dtype=">i4"), b'{"n_clusters": 3}'),
    ],
)
def test_members_that_a_kernel_must_not_follow_are_made_again(tmp_path, labels, facts):
    whole = generate(X, 3, k=3, random_state=0, checkpoint=tmp_path / "run")
    spoil(tmp_path / "run" / "member-000001.npy", labels, facts)
    again = generate(X, 3, k=3, random_state=0, checkpoint=tmp_path / "run")
    assert np.array_equal(whole.labels, again.labels)
    assert whole.info == again.info


# Both processes wait for the same moment, then open the same folder without a seed.
TOGETHER = """
import sys, time
import numpy as np
from quorate import generate

def slow(X, k, rng):
    time.sleep(0.05)
    return rng.integers(k, size=len(X))

X = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
generate(X, 1, k=2, random_state=0)
print("ready", flush=True)
sys.stdin.readline()
try:
    print(generate(X, 6, k=(3, 6), base=slow, checkpoint=sys.argv[1], n_jobs=1).info["seed"], flush=True)
except ValueError as error:
    print(error, flush=True)
"""


def test_two_processes_that_start_together(tmp_path):
    path = tmp_path / "together.py"
    path.write_text(TOGETHER)
    for number in range(3):
        folder = tmp_path / f"run {number}"
        command = [sys.executable, str(path), str(folder)]
        pair = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
            for _ in range(2)
        ]
        for process in pair:
            assert process.stdout.readline() == "ready\n"
        for process in pair:
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [process.communicate()[0].strip() for process in pair]
        refused = [text for text in told if "is in use by another process" in text]
        seeds = {text for text in told if text.isdigit()}
        # one may end before the other starts, and then that takes up its seed
        assert len(refused) + sum(text.isdigit() for text in told) == 2
        assert len(seeds) == 1
        manifest = json.loads((folder / checkpoint.MANIFEST).read_text())
        assert {manifest["seed"]} == seeds
        store = checkpoint.Checkpoint(folder, None, manifest, 400)
        assert all(store.load(member) is not None for member in range(6))


def test_a_folder_in_use_is_refused_and_then_free(tmp_path):
    held = checkpoint.FolderLock(tmp_path)
    (tmp_path / ".member-000001.7.part").write_bytes(b"half")
    with pytest.raises(ValueError, match="is in use by another process"):
        generate(X, 3, k=3, random_state=0, checkpoint=tmp_path)
    assert (tmp_path / ".member-000001.7.part").exists()
    held.release()
    first = generate(X, 3, k=3, random_state=0, checkpoint=tmp_path)
    assert not list(tmp_path.glob(".*.part"))
    assert np.array_equal(generate(X, 3, k=3, random_state=0, checkpoint=tmp_path).labels, first.labels)
    with pytest.raises(ValueError, match="belongs to another run"):
        generate(X, 4, k=3, random_state=0, checkpoint=tmp_path)
    generate(X, 3, k=3, random_state=0, checkpoint=tmp_path)


def test_a_manifest_is_never_replaced(tmp_path):
    assert checkpoint._write(tmp_path, {"seed": "1"})
    assert not checkpoint._write(tmp_path, {"seed": "2"})
    assert json.loads((tmp_path / checkpoint.MANIFEST).read_text()) == {"seed": "1"}
    assert [entry.name for entry in tmp_path.iterdir()] == [checkpoint.MANIFEST]


def test_swapped_members_and_members_of_another_seed_are_made_again(tmp_path):
    whole = generate(X, 3, k=3, random_state=0, checkpoint=tmp_path / "a")
    generate(X, 3, k=3, random_state=1, checkpoint=tmp_path / "b")
    first, second, third = members(tmp_path / "a")
    content = first.read_bytes(), second.read_bytes()
    first.write_bytes(content[1])
    second.write_bytes(content[0])
    third.write_bytes(members(tmp_path / "b")[2].read_bytes())
    again = generate(X, 3, k=3, random_state=0, checkpoint=tmp_path / "a")
    assert np.array_equal(again.labels, whole.labels)
    assert (first.read_bytes(), second.read_bytes()) == content


def test_checkpoints_of_format_1_are_read(tmp_path, monkeypatch):
    whole = generate(X, 3, k=3, random_state=0, checkpoint=tmp_path)
    manifest = json.loads((tmp_path / checkpoint.MANIFEST).read_text())
    assert manifest["format"] == 2
    (tmp_path / checkpoint.MANIFEST).write_text(json.dumps({**manifest, "format": 1}))
    for path in members(tmp_path):
        with open(path, "rb") as file:
            labels, (check, facts) = np.load(file), file.read().split(b"\n")
        assert check.startswith(b"2:")
        with open(path, "wb") as file:
            np.save(file, labels)
            file.write(checkpoint._plain_checksum(labels, facts) + b"\n" + facts)
    stored = {path: path.stat().st_mtime_ns for path in members(tmp_path)}
    members(tmp_path)[1].unlink()
    assert np.array_equal(generate(X, 3, k=3, random_state=0, checkpoint=tmp_path).labels, whole.labels)
    assert [path.stat().st_mtime_ns == stored[path] for path in sorted(stored)] == [True, False, True]
    # a member with the old checksum has no place in a folder of the new format
    (tmp_path / checkpoint.MANIFEST).write_text(json.dumps(manifest))
    assert np.array_equal(generate(X, 3, k=3, random_state=0, checkpoint=tmp_path).labels, whole.labels)
    assert all(path.stat().st_mtime_ns != stored[path] for path in stored)
    (tmp_path / checkpoint.MANIFEST).write_text(json.dumps({**manifest, "format": 3}))
    with pytest.raises(ValueError, match="belongs to another run"):
        generate(X, 3, k=3, random_state=0, checkpoint=tmp_path)

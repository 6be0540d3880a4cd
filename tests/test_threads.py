"""Threads that suit the cores that the process may use."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest

from quorate import consensus
from quorate.ops import threads


def groups(folder: Path, lines: list[str], files: dict[str, str]) -> int:
    (folder / "cgroup").write_text("\n".join(lines) + "\n")
    for name, text in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return threads.granted_cores(str(folder / "root"), str(folder / "cgroup"))


def old(group: str, quota: int) -> dict[str, str]:
    """The files of a group in the first version of control groups."""
    return {f"cpu/{group}/cpu.cfs_quota_us": f"{quota}\n", f"cpu/{group}/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("lines", "files", "cores"),
    [
        (["0::/"], {"cpu.max": "50000 100000\n"}, 1),
        (["0::/"], {"cpu.max": "250000 100000\n"}, 3),
        (["0::/"], {"cpu.max": "max 100000\n"}, threads.UNLIMITED),
        (["0::/a/b"], {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "200000 100000\n"}, 2),
        (["0::/a/b"], {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "200000 100000\n"}, 2),
        (
            ["4:cpu,cpuacct:/docker/x"],
            {"cpu/docker/x/cpu.cfs_quota_us": "150000", "cpu/docker/x/cpu.cfs_period_us": "100000"},
            2,
        ),
        (
            ["4:cpu,cpuacct:/x"],
            {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"},
            threads.UNLIMITED,
        ),
        (["4:memory:/x"], {"cpu.max": "nonsense"}, threads.UNLIMITED),
        (["strange"], {}, threads.UNLIMITED),
    ],
)
def test_quotas_of_containers_are_kept(lines: list[str], files: dict[str, str], cores: int, tmp_path: Path) -> None:
    assert groups(tmp_path, lines, files) == cores


def test_a_system_without_control_groups_has_no_quota() -> None:
    assert threads.granted_cores("/nowhere", "/nowhere/cgroup") == threads.UNLIMITED


def test_a_quota_limits_threads_and_changes_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=(40_000, 6))
    wanted = consensus(labels, 5, method="kmeans", random_state=0, confidence=False).labels
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 8)
    monkeypatch.setattr(threads, "granted_cores", lambda: 3)
    assert threads.n_threads() == 3
    assert np.array_equal(consensus(labels, 5, method="kmeans", random_state=0, confidence=False).labels, wanted)
    monkeypatch.setattr(threads, "granted_cores", lambda: threads.UNLIMITED)
    assert threads.n_threads() == 8


def test_blas_waits_if_it_has_more_threads_than_the_process_may_keep_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blas:
        def info(self) -> list[dict[str, object]]:
            return [{"user_api": "blas", "num_threads": 4}, {"user_api": "openmp", "num_threads": 64}]

    monkeypatch.setattr(threads, "_blas", Blas)
    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    assert not threads.blas_waits()
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    assert threads.blas_waits()

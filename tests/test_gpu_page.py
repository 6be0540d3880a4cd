"""docs/gpu.md and docs/measured/gpu.md are the pages that the stored results make."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.gpu import page
from benchmarks.gpu.__main__ import cases, main


def test_the_page_is_that_of_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"PAGE": tmp_path / "gpu.md", "EVIDENCE": tmp_path / "measured" / "gpu.md"}
    stored = {name: getattr(page, name).read_text(encoding="utf-8") for name in made}
    for name, path in made.items():
        monkeypatch.setattr(page, name, path)
    page.main()
    for name, path in made.items():
        assert path.read_text(encoding="utf-8") == stored[name]
        assert "{{" not in stored[name]


def test_every_case_is_named_once() -> None:
    texts = [str(case) for case in cases()]
    assert len(texts) == len(set(texts))


def test_cases_that_fail_are_results_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.jsonl"
    monkeypatch.setattr("benchmarks.gpu.__main__.cases", lambda: [{"kind": "no such kind", "device": "cpu"}])
    monkeypatch.setattr("sys.argv", ["benchmarks.gpu", "--out", str(out)])
    main()
    assert "KeyError" in out.read_text(encoding="utf-8")
    assert "KeyError" in capsys.readouterr().out

"""Check what `make dist` built: the names, the contents and the size of the source archive and of the wheel.

Run it as `python release/check_dist.py dist`; it prints what it saw and ends with an error if something is wrong.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = {".whl": 3_000_000, ".gz": 12_000_000}
STRAY = ("__pycache__", ".pyc", ".nbi", ".nbc", ".DS_Store", ".part", ".venv", "_build", ".hypothesis", "NOTE_FROM")
TOP = {
    "src",
    "tests",
    "docs",
    "benchmarks",
    "examples",
    "paper",
    "r",
    "release",
    "asv.conf.json",
    "conftest.py",
    ".ci",
    ".gitignore",
    "pyproject.toml",
    "Makefile",
    "PKG-INFO",
}
"""What the source archive may hold at its top, beside files in capital letters such as README.md."""
NEEDED_IN_WHEEL = (
    "quorate/__init__.py",
    "quorate/py.typed",
    "quorate/reporting/assets/",
    "quorate/reporting/echarts/",
    "dist-info/licenses/LICENSE",
    "dist-info/entry_points.txt",
)
NEEDED_IN_SOURCE = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "pyproject.toml",
    "Makefile",
    "tests/test_laws.py",
)


def faults(folder: Path) -> list[str]:
    """Return what is wrong with the archives of a folder, one sentence each."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        return [f"{folder} must hold one wheel and one source archive, got {len(wheels)} and {len(sources)}; empty it."]
    version = _version()
    with zipfile.ZipFile(wheels[0]) as packed, tarfile.open(sources[0]) as sent:
        in_wheel, in_source = packed.namelist(), sent.getnames()
        page = packed.read(next(name for name in in_wheel if name.endswith("METADATA"))).decode()
    relative = re.findall(r"\]\((?!https?:)([^)]+)\)", page)
    found = [f"the page on PyPI would have the link {link}, which leads nowhere there." for link in relative]
    for archive, names, needed in (
        (wheels[0], in_wheel, NEEDED_IN_WHEEL),
        (sources[0], in_source, NEEDED_IN_SOURCE),
    ):
        sys.stdout.write(f"{archive.name}: {len(names)} entries, {archive.stat().st_size:,} bytes\n")
        found += _faults_of(archive, names, needed, version)
    found += [f"{sources[0].name} holds {name}, which is not part of the project." for name in _strangers(in_source)]
    return found + _missing_modules(wheels[0], set(in_wheel))


def _strangers(names: list[str]) -> list[str]:
    tops = {Path(name).parts[1] for name in names if len(Path(name).parts) > 1}
    return sorted(name for name in tops - TOP if not name.split(".")[0].isupper())


def _version() -> str:
    namespace: dict[str, str] = {}
    for line in (ROOT / "src" / "quorate" / "__init__.py").read_text(encoding="utf-8").splitlines():
        if line.startswith("__version__"):
            exec(line, namespace)
    return namespace["__version__"]


def _faults_of(archive: Path, names: list[str], needed: Iterable[str], version: str) -> list[str]:
    found = [f"{archive.name} holds the stray file {name}." for name in names for part in STRAY if part in name]
    found += [f"{archive.name} lacks {part}." for part in needed if not any(part in name for name in names)]
    if f"-{version}" not in archive.name:
        found.append(f"{archive.name} is not of version {version}.")
    most = MOST_BYTES[archive.suffix]
    if archive.stat().st_size > most:
        found.append(f"{archive.name} has {archive.stat().st_size:,} bytes, and at most {most:,} are expected.")
    return found


def _missing_modules(wheel: Path, names: set[str]) -> list[str]:
    """Compare the wheel with the package, so that no module and no asset is left behind."""
    source = ROOT / "src"
    files = [path for path in (source / "quorate").rglob("*") if path.is_file()]
    wanted = {str(path.relative_to(source)) for path in files if not any(part in str(path) for part in STRAY)}
    return [f"{wheel.name} lacks {name}." for name in sorted(wanted - names)]


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
    sys.exit("\n".join(wrong) or 0)

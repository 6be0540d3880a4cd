"""What a release states in several places is the same everywhere: version, date, requirements."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import quorate

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
RECIPE = (ROOT / "release" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
REQUIREMENT = re.compile(r"^([A-Za-z0-9_-]+)(?:\[[a-z,]*\])?>=([0-9.]+)")
CONDA_NAMES = {"matplotlib": "matplotlib-base", "cupy-cuda12x": "cupy", "dask": "dask-core"}
LEFT_OUT = {"mtkahypar"}
# differs by the version of Python, which one recipe for all versions cannot say in the same words
BY_PYTHON = {"zarr": ">=2.18.3,<3|>=3.1.1"}


def release_module(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def project_list(key: str) -> dict[str, str]:
    """The requirements of one list of pyproject.toml, by name; those with a marker are left out."""
    match = re.search(rf"^{key} = \[(.*?)\]$", PROJECT, flags=re.DOTALL | re.MULTILINE)
    assert match, key
    found = {}
    for entry in re.findall(r'"([^"]+)"', match[1]):
        requirement = REQUIREMENT.match(entry)
        if requirement and ";" not in entry:
            found[requirement[1]] = f">={requirement[2]}"
    return found


def recipe_list(key: str) -> dict[str, str]:
    match = re.search(rf"^  {key}:\n((?:    - .*\n)+)", RECIPE, flags=re.MULTILINE)
    assert match, key
    entries = [line.removeprefix("    - ").split(" ", 1) for line in match[1].splitlines()]
    return {name: " ".join(bound) for name, *bound in entries}


def test_version_and_date_are_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, date = re.findall(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", changelog, flags=re.MULTILINE)[0]
    assert version == quorate.__version__
    assert f"\nversion: {version}\n" in citation
    assert f'\ndate-released: "{date}"\n' in citation
    assert f'\n  version: "{version}"\n' in RECIPE


def test_the_recipe_requires_what_the_package_requires() -> None:
    assert {"python": ">=${{ python_min }}", **project_list("dependencies")} == recipe_list("run")
    python_min = re.search(r'^  python_min: "(.*)"$', RECIPE, flags=re.MULTILINE)
    assert python_min
    assert f'requires-python = ">={python_min[1]}"' in PROJECT
    built = dict(re.findall(r'"([a-z-]+)(>=[0-9.]+)"', PROJECT.split("[project]")[0]))
    assert {"python": "${{ python_min }}.*", "pip": "", **built} == recipe_list("host")


def test_the_recipe_bounds_what_is_optional() -> None:
    extras = ("parquet", "plot", "excel", "hypergraph", "gpu", "anndata", "dask")
    wanted = {name: bound for key in extras for name, bound in project_list(key).items()}
    wanted = {CONDA_NAMES.get(name, name): bound for name, bound in wanted.items() if name not in LEFT_OUT}
    assert {**wanted, **BY_PYTHON} == recipe_list("run_constraints")


def test_the_recipe_of_a_release_has_its_checksum(tmp_path: Path) -> None:
    recipe = release_module("conda_recipe")
    archive = tmp_path / "quorate-0.tar.gz"
    archive.write_bytes(b"abc")
    text = recipe.filled(RECIPE, archive)
    assert "sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n" in text
    with pytest.raises(ValueError, match="must hold the line"):
        recipe.filled(text, archive)


GALAXY = ROOT / "release" / "galaxy"


@pytest.mark.parametrize("command", ["consensus", "cluster"])
def test_galaxy_calls_options_that_the_shell_has(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from quorate.cli import main

    with pytest.raises(SystemExit):
        main([command, "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    tool = ElementTree.parse(GALAXY / f"quorate_{command}.xml").getroot()
    text = str(tool.findtext("command"))
    values = [str(part.get("truevalue", "")) for part in tool.iter("param")]
    asked = set(re.findall(r"(?<![\w-])--[a-z-]+", " ".join([text, *values])))
    assert asked
    assert asked <= known
    macros = (GALAXY / "macros.xml").read_text(encoding="utf-8")
    assert f'"@TOOL_VERSION@">{quorate.__version__}<' in macros


def test_galaxy_methods_are_methods() -> None:
    tool = ElementTree.parse(GALAXY / "quorate_consensus.xml").getroot()
    methods = [option.get("value") for option in tool.findall(".//param[@argument='--method']/option")]
    assert set(methods) <= {"auto", *quorate.METHODS}


def test_galaxy_has_the_output_of_its_test(tmp_path: Path) -> None:
    from quorate.cli import main

    out = tmp_path / "clusters.tsv"
    table = str(GALAXY / "test-data" / "labels.tsv")
    assert main(["consensus", table, "--sep", "tab", "--id", "customer", "-k", "2", "--quiet", "-o", str(out)]) == 0
    assert out.read_text() == (GALAXY / "test-data" / "clusters.tsv").read_text()


def test_the_check_of_archives_knows_what_the_repository_holds() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    names = [f"quorate-0/{name}" for name in listed if name and not name.startswith(".github/")]
    assert release_module("check_dist")._strangers(names) == []

"""Fill the checksum of the source archive into the recipe for conda-forge, and have rattler-build read and render it.

Run it as `python release/conda_recipe.py dist`; the finished recipe is written to build/conda/recipe.yaml. It needs
`py-rattler-build`, whose parser is the one that conda-forge builds with; nothing is built or fetched.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "release" / "conda" / "recipe.yaml"
TARGET = ROOT / "build" / "conda" / "recipe.yaml"
MARK = "sha256: SHA256"


def filled(recipe: str, archive: Path) -> str:
    """Return the recipe with the checksum of an archive in the place of the mark."""
    if recipe.count(MARK) != 1:
        raise ValueError(f"{RECIPE} must hold the line {MARK!r} once, got {recipe.count(MARK)}; restore it.")
    return recipe.replace(MARK, f"sha256: {hashlib.sha256(archive.read_bytes()).hexdigest()}")


def rendered(path: Path) -> list[dict[str, Any]]:
    """Return what rattler-build makes of a recipe, one dictionary for each variant; it refuses faulty recipes."""
    from rattler_build import Stage0Recipe

    return [variant.recipe.to_dict() for variant in Stage0Recipe.from_file(path).render()]


def main(folder: Path) -> str:
    """Write the finished recipe, and return a sentence about it."""
    archives = sorted(folder.glob("quorate-*.tar.gz"))
    if len(archives) != 1:
        raise ValueError(f"{folder} must hold one source archive, got {len(archives)}; run `make dist`.")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(filled(RECIPE.read_text(encoding="utf-8"), archives[0]), encoding="utf-8")
    variants = rendered(TARGET)
    package = variants[0]["package"]
    if f"quorate-{package['version']}.tar.gz" != archives[0].name:
        raise ValueError(f"the recipe is of version {package['version']}, and the archive is {archives[0].name}.")
    return f"{TARGET.relative_to(ROOT)}: {package['name']} {package['version']}, parsed and rendered\n"


if __name__ == "__main__":
    sys.stdout.write(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))

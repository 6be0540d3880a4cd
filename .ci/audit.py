"""Look up known advisories of the lowest and of the newest versions of all dependencies, with pip-audit.

Usage: python .ci/audit.py PIP_AUDIT REQUIREMENTS..., where PIP_AUDIT is the program, and each file pins versions.
A finding is an error. If advisories cannot be looked up, that is said, and is no error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SECONDS = 120


def judged(name: str, output: str, reason: str) -> tuple[bool, str]:
    """Return whether versions may be used, by what pip-audit wrote, and what to say about them."""
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        lines = reason.strip().splitlines() or ["no answer"]
        return True, f"{name}: NOT AUDITED, the advisories could not be looked up: {lines[-1][:200]}"
    looked_up = [package for package in packages if "skip_reason" not in package]
    if not looked_up:
        return True, f"{name}: NOT AUDITED, the service of advisories knows none of {len(packages)} packages"
    found = [
        f"{package['name']} {package['version']}: {advisory['id']}, mended in {advisory['fix_versions'] or 'none'}"
        for package in looked_up
        for advisory in package.get("vulns", ())
    ]
    lacking = [package["name"] for package in packages if package not in looked_up]
    words = f"{name}: {len(looked_up)} packages looked up, {len(found)} advisories"
    if lacking:
        words += f"; NOT AUDITED: {', '.join(lacking)}"
    return not found, "\n".join([words, *found])


def audit(program: str, requirements: str) -> tuple[bool, str]:
    command = [
        program,
        "--requirement",
        requirements,
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
        "--progress-spinner",
        "off",
    ]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return judged(requirements, "", str(error))
    return judged(requirements, run.stdout, run.stderr)


if __name__ == "__main__":
    outcomes = [audit(sys.argv[1], requirements) for requirements in sys.argv[2:]]
    for _, words in outcomes:
        sys.stdout.write(words + "\n")
    sys.exit(0 if all(fine for fine, _ in outcomes) else 1)

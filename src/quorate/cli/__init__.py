"""The shell tool. `main` is the only name meant for other packages.

A command goes through the modules in this order:

- `entry` builds the parser, runs the command, answers signals and turns every error into one line;
- `label_commands` (consensus, score, place, update, compare, report; methods and demo, which `demo` holds),
  `tree_commands` (cut, resolutions, splits, divide, names) and `measurement_commands` (generate, cluster, predict,
  explain) hold the options of their commands and what these commands do;
- `options` holds the options that several commands have, and turns their texts into Python values;
- `work` loads labels and measurements, and makes an ensemble or a consensus; `block_commands` does so for tables in
  blocks;
- `output` writes the summary or the JSON object; what goes on meanwhile is shown by `quorate._progress`.

`work`, `block_commands` and `demo` import the library when they are imported, so commands import them
inside functions. All other modules are light: `quorate --help` does not wait for numpy and numba.
"""

from quorate.cli.entry import main

__all__ = ["main"]

"""The shell tool. `main` is the only name meant for other packages.

A command goes through the modules in this order:

- `entry` builds the parser, runs the command and turns every error into one line;
- `label_commands` (consensus, score), `measurement_commands` (generate, cluster), `report_command` (report),
  `result_commands` (place, compare) and `guide_commands` (methods, demo) each hold the options of their commands and
  what these commands do;
- `options` holds the options that several commands have, `values` turns their texts into Python values;
- `reading` loads labels, `generate_run` makes an ensemble from measurements, and `consensus_run` makes a consensus
  from an ensemble;
- `output` writes the summary or the JSON object, and `progress` shows what goes on meanwhile.

`reading`, `generate_run`, `consensus_run` and the demo import the library when they are imported, so the commands
import them inside functions. All other modules are light: `quorate --help` does not wait for numpy and numba.
"""

from quorate.cli.entry import main

__all__ = ["main"]

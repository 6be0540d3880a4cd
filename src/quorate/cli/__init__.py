"""The shell tool. `main` is the only name meant for other packages.

A command goes through the modules in this order:

- `entry` builds the parser, runs the command and turns every error into one line;
- `label_commands` (consensus, score), `measurement_commands` (generate, cluster), `report_command` (report) and
  `guide_commands` (methods, demo) each hold the options of their commands and what these commands do;
- `options` holds the options that several commands have, `values` turns their texts into Python values;
- `reading` loads the input files, and `consensus_run` does what `consensus` and `cluster` have in common;
- `output` writes the summary or the JSON object, and `progress` shows what goes on meanwhile.

`reading`, `consensus_run` and `demo_story` import the library when they are imported. All other modules import it
inside the functions that need it, so that `quorate --help` does not wait for numpy and numba.
"""

from quorate.cli.entry import main

__all__ = ["main"]

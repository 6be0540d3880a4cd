"""Ctrl-C and requests to end are answered within a second, also while compiled code runs.

Python notices a signal only between two of its own instructions. While a kernel, a decomposition or a graph partition
computes, that may take minutes. So a thread of its own hears of every signal at once, gives the command a moment to
clean up after itself, and ends the process if it has not. Outputs are written aside and renamed, so that nothing is
left half-written, and what was being written is removed first.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

from quorate.cli.options import settle_ids
from quorate.cli.output import printable

PATIENCE = 0.7
"""Seconds that the command has for ending by itself."""
ENDING = {"SIGTERM": "ended by SIGTERM", "SIGHUP": "ended by SIGHUP, because the terminal was closed"}
"""Signals beside Ctrl-C that end the command, and what is told."""


class EndedError(KeyboardInterrupt):
    """A signal of ENDING arrived; a KeyboardInterrupt, so that all clean up after it as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(ENDING[signal.Signals(number).name])
        self.status = 128 + number


@contextmanager
def answered_signals() -> Iterator[None]:
    """Answer Ctrl-C, SIGTERM and SIGHUP while the body runs; signals that are ignored stay ignored, as under nohup."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _INTERRUPTED.clear()
    waking, heard = socket.socketpair()
    heard.setblocking(False)
    before: dict[int, Any] = {}
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            before[number] = signal.signal(number, _end)
    former = signal.set_wakeup_fd(heard.fileno(), warn_on_full_buffer=False)
    former_hook = sys.unraisablehook
    sys.unraisablehook = partial(_unraisable, former_hook)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(waking, done, {signal.SIGINT, *before}), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(former)
        for number, handler in before.items():
            signal.signal(number, handler)
        heard.close()
        watcher.join()
        waking.close()
        sys.unraisablehook = former_hook


def _end(number: int, _: FrameType | None) -> None:
    raise EndedError(number)


def _unraisable(former_hook: Callable[[Any], Any], unraisable: Any) -> None:
    """Say nothing of an interrupt that came within a destructor, where Python drops it and prints a traceback.

    The command goes on then, and the watcher ends it. After an interrupt, nothing is said of destructors of objects
    that it left half made, such as an event loop of asyncio, which zarr uses.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt) and not _INTERRUPTED.is_set():
        former_hook(unraisable)


_INTERRUPTED = threading.Event()
"""Whether the command that runs has been interrupted."""


def _watch(waking: socket.socket, done: threading.Event, ending: set[int]) -> None:
    """Wait for a signal, then for the command to end; if it does not, end the process."""
    while True:
        received = waking.recv(1)
        if not received:
            return
        number = received[0]
        if number in ending and not done.wait(PATIENCE):
            _end_now(number)


def _end_now(number: int) -> None:
    aside = sys.modules.get("quorate._io.aside")
    if aside is not None:
        aside.remove_own()
    name = signal.Signals(number).name
    message = ENDING.get(name, "interrupted")
    os.write(2, f"quorate: error: {message}\n".encode())
    os._exit(128 + number)


EPILOG = """examples:
  quorate consensus labels.csv --id customer -k 5 -o consensus.csv
  quorate score labels.csv consensus.csv --id customer
  quorate report labels.csv consensus.csv --id customer -o report.html
  quorate place labels.csv consensus.csv new.csv --id customer -o placed.csv
  quorate update may.csv june.csv --id customer -o june-with-lasting-ids.csv
  quorate divide labels.csv consensus.csv --id customer --cluster 2 -o divided.csv
  quorate names celltypes.csv --id cell --parents ontology.csv --clusters consensus.csv
  quorate compare labels.csv --id customer -k 2:9
  quorate resolutions leiden.csv --id cell --groups "leiden_([0-9.]+)" --picture tree.png
  quorate splits ensemble.zarr --features features.csv --picture splits.png
  quorate generate features.csv --members 20 --k 10:40 -o ensemble.zarr
  quorate cluster features.csv -k 10 -o labels.csv
  quorate predict model.npz new.csv --id customer -o labels.csv
  quorate explain labels.csv features.csv --id customer --rules
  quorate methods
  quorate demo

A table of labels has a header, one row per object and one column per clustering. Empty cells are missing labels.
Several tables are joined by the column --id. Columns of text files are separated by commas, semicolons, tabs or pipes.
The suffix of a file name gives its format: .csv (also .csv.gz), .tsv, .txt, .parquet, .xlsx, .npy, .npz or .zarr.
The name - stands for standard input or standard output, both in CSV format."""

COMMANDS = {
    "consensus": "label_commands",
    "score": "label_commands",
    "report": "label_commands",
    "place": "label_commands",
    "update": "label_commands",
    "divide": "tree_commands",
    "names": "tree_commands",
    "cut": "tree_commands",
    "compare": "label_commands",
    "resolutions": "tree_commands",
    "splits": "tree_commands",
    "generate": "measurement_commands",
    "cluster": "measurement_commands",
    "predict": "measurement_commands",
    "explain": "measurement_commands",
    "methods": "label_commands",
    "demo": "label_commands",
}
"""The commands in the order of the help, and the module that holds `add_<command>` for each."""

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
LEAST_MEMORY = 1_200_000_000
"""Bytes of address space below which the libraries may fail to load; a small table takes 0.5 to 1.2 GB."""
LONGEST = 1200
"""The largest number of characters in a message; names and values from a file may have any length."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the shell tool.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the name of the program; those of the running process by default.

    Returns
    -------
    int
        The exit status: 0 after success, 2 after bad input, 130 after Ctrl-C, 141 if the reader of the output left,
        129 and 143 after the signals SIGHUP and SIGTERM. Bad input and signals are reported in one line on standard
        error.
    """
    if sys.stderr is None:
        # it was closed, so that only the exit status can report errors
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal may not know all characters of a name; those are written as in Python, such as \\xe4
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _answered(argv)
    except KeyboardInterrupt as interrupt:
        # a signal that came in the moment in which answers to signals are set up or taken down
        return _report_interrupt(interrupt)


def _answered(argv: Sequence[str] | None) -> int:
    """Run the command, answering signals, and return its exit status."""
    with warnings.catch_warnings(), answered_signals():
        _show_warnings_in_one_line()
        try:
            if sys.stdout is None:
                raise ValueError("standard output is closed; send it to a file, or to nowhere with > /dev/null")
            arguments = _parse(sys.argv[1:] if argv is None else argv)
            _refuse_little_memory()
            arguments.run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
            return BROKEN_PIPE
        except KeyboardInterrupt as interrupt:
            return _report_interrupt(interrupt)
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO):
                _discard_output()
            return _report_error(_words_of(error), BAD_INPUT)
    return 0


def _words_of(error: Exception) -> str:
    """Return the message of an error, without the number of one that names no file (a full disk behind a pipe)."""
    if isinstance(error, OSError) and error.strerror and error.filename is None:
        return f"cannot read or write: {error.strerror}"
    return str(error) or "not enough memory"


def _discard_output() -> None:
    """Send what is still to be written to standard output nowhere: Python flushes it at exit, which must not fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_interrupt(interrupt: KeyboardInterrupt) -> int:
    """Say in one line which signal ended the command, and return the exit status that belongs to it."""
    _INTERRUPTED.set()
    if isinstance(interrupt, EndedError):
        return _report_error(str(interrupt), interrupt.status)
    return _report_error("interrupted", INTERRUPTED)


def _refuse_little_memory() -> None:
    """Raise if the address space of the process is limited to less than importing the libraries takes.

    OpenBLAS, which numpy and scipy use, tries for ever if it gets no memory, so that nothing could be reported later.
    Each of its threads takes memory of its own, so that one has to do if memory is limited at all.
    """
    try:
        import resource
    except ImportError:
        return  # Windows has no such limit
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if limit < LEAST_MEMORY:
        raise ValueError(
            f"the memory of this process is limited to {limit / 1e6:,.0f} MB (ulimit -v), and "
            f"{LEAST_MEMORY / 1e6:,.0f} MB are needed before any table is read; raise the limit"
        )


def _report_error(message: str, status: int) -> int:
    # if standard error cannot be written to either, only the exit status can tell
    with contextlib.suppress(OSError):
        sys.stderr.write(f"quorate: error: {_one_line(message)}\n")
        sys.stderr.flush()
    return status


def _show_warnings_in_one_line() -> None:
    """Show our own and numerical warnings; deprecations in other libraries do not help a user of the shell."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"quorate: warning: {_one_line(str(message))}\n")

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)
    warnings.simplefilter("always", RuntimeWarning)
    # Ctrl-C while zarr writes; the one line about the interruption says all there is to say
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    warnings.showwarning = show


def _one_line(text: str) -> str:
    """Return the text as one line of limited length without control characters, and without a traceback in it."""
    text = text.partition("Traceback (most recent call last)")[0] or text
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 200]} ... {plain[-190:]}"


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of printing its usage, so that bad options are reported like all other errors."""

    def error(self, message: str) -> NoReturn:
        import re

        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        meant = ""
        if choice is not None:
            meant = _did_you_mean(choice.group(1), [name.strip(" '") for name in choice.group(2).split(",")])
        raise ValueError(f"{message}{meant}; see {self.prog} --help")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write the help, and raise if that fails, which argparse would not tell."""
        stream = sys.stdout if file is None else file
        stream.write(message)
        stream.flush()


class _Version(argparse.Action):
    """Imports the package only if its version is asked for."""

    def __call__(self, *_: Any) -> NoReturn:
        from quorate import __version__

        sys.stdout.write(f"quorate {__version__}\n")
        sys.stdout.flush()
        raise SystemExit(0)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; `run` is the function of the command, and `command_line` the whole line for the reports."""
    parser = build_parser(argv[0] if argv else None)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        command = arguments.command
        known = [name for entry in _commands_of(parser)[command]._actions for name in entry.option_strings]
        name = unknown[0].split("=")[0]
        meant = _did_you_mean(name, known) if name.startswith("-") else _about_files(_commands_of(parser)[command])
        raise ValueError(f"unrecognized arguments: {' '.join(unknown)}{meant}; see quorate {command} --help")
    settle_ids(arguments)
    arguments.command_line = ["quorate", *argv]
    return arguments


def _about_files(command: argparse.ArgumentParser) -> str:
    """Say why a file was one too many: several may stand in one place only, or the command takes no more than these."""
    files = [entry for entry in command._actions if not entry.option_strings]
    if any(entry.nargs == "+" for entry in files):
        return " (put all files next to one another)"
    in_blocks = any("--memory" in entry.option_strings for entry in command._actions)
    several = "; several files of one table are a folder or a quoted pattern" if in_blocks else ""
    return f" (the files it takes: {', '.join(entry.dest for entry in files)}{several})"


def _commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands by name."""
    action = next(entry for entry in parser._actions if isinstance(entry, argparse._SubParsersAction))
    return dict(action.choices)


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    """Suggest a name as the library does; it is imported only if something is mistyped, because that loads numpy."""
    from quorate._check import did_you_mean as library_words

    return library_words(name, known)


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of one command, or of all: for the general help, mistyped names and the reference pages."""
    parser = _Parser(
        prog="quorate",
        description="Consensus clustering: combine many clusterings of the same objects into one.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="command", required=True)
    for name in [command] if command in COMMANDS else COMMANDS:
        module = import_module(f"quorate.cli.{COMMANDS[name]}")
        getattr(module, f"add_{name}")(commands)
    return parser

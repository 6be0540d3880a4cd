"""Threads share two arenas of memory, as the C library itself reports."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNT = """
import ctypes, threading
from quorate.cli.block_commands import share_arenas
{before}
library = ctypes.CDLL(None)
everyone = threading.Barrier(8)

def take():
    library.malloc(1_000)
    everyone.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library.fdopen.restype = ctypes.c_void_p
output = ctypes.c_void_p(library.fdopen(1, b"w"))
library.malloc_info(0, output)
library.fflush(output)
"""


def arenas(before: str) -> int:
    code = COUNT.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas that can be limited")
def test_threads_share_two_arenas() -> None:
    assert arenas("") > 2
    assert arenas("assert share_arenas()") <= 2

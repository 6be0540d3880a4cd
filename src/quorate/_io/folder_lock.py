"""A lock on a folder, held by one process at a time; the system lets go of it however the process ends."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import IO

NAME = ".lock"
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class FolderLock:
    """Taken when it is made, until `release`; refused with a ValueError where another process, or thread, has it.

    The file stays: to delete it could take the lock away from a process that has just opened it. Where the folder
    cannot be written to, or its file system has no locks, nothing is locked.
    """

    def __init__(self, folder: Path, what: str = "checkpoint") -> None:
        self._file: IO[bytes] | None = None
        try:
            file = open(folder / NAME, "ab")  # noqa: SIM115 - open as long as the lock is held
        except OSError:
            return
        try:
            _lock(file)
        except OSError as error:
            file.close()
            if error.errno in _TAKEN:
                raise ValueError(
                    f"the {what} {folder} is in use by another process; wait until that has ended, or name another "
                    f"folder."
                ) from None
            return
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[bytes]) -> None:
    """Lock an open file or raise OSError at once."""
    if os.name == "nt":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

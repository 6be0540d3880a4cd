"""Writing aside before renaming, so that readers see the old file or the new one; and a lock on a folder."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from quorate._io.paths import FilePath, files_below, refuse_place, strange_in_zarr

NEW, OLD = "new", "old"
"""The names that the new and the old folder have while one takes the place of the other."""
LONGEST_NAME = 240
"""Bytes of a name around which a point, eight digits and ".part" fit into the 255 that file systems allow."""
_being_written: dict[Path, Path] = {}
"""The temporary files and folders of this process that are being written, and what a folder is to become."""


def write_aside(path: FilePath, write: Callable[[IO[bytes]], None], *, overwrite: bool) -> None:
    """Write under a temporary name in the same folder, then rename, so that readers see the old file or the new one.

    A symbolic link stays a link: the file that it points to is replaced. The new file has the mode and, where the
    system allows it, the owner of the old one. Temporary files of the same name whose writers are gone are removed
    first.
    """
    target = Path(os.path.realpath(path))
    remove_left_over(target)
    refuse_place(path, overwrite)
    aside = _aside(target)
    try:
        with made_anew(aside) as file, _held(aside):
            keep_access(target, aside)
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.replace(aside, target)
    except OSError as error:
        raise cannot_write(error, target) from error


@contextmanager
def made_anew(path: Path) -> Iterator[IO[bytes]]:
    """Make a file for writing, and remove it if that fails; what is there already, of any kind, is left alone.

    A signal may end the work at any moment, also before the file that was opened has a name here.
    """
    is_free = not os.path.lexists(path)
    if is_free:
        _being_written[path] = path
    try:
        with open(path, "xb") as file:
            yield file
    except BaseException as error:
        if is_free and not (isinstance(error, FileExistsError) and error.filename == os.fspath(path)):
            path.unlink(missing_ok=True)
        raise
    finally:
        _being_written.pop(path, None)


def is_own_file(path: Path) -> bool:
    """Whether this is a plain file of this user, and no link to one."""
    facts = path.lstat()
    return stat.S_ISREG(facts.st_mode) and facts.st_uid == getattr(os, "geteuid", lambda: facts.st_uid)()


def write_folder_aside(path: FilePath, write: Callable[[Path], None], *, overwrite: bool) -> None:
    """Do what `write_aside` does for a format that is a folder; an old folder is put back if writing fails."""
    target = Path(os.path.realpath(path))
    remove_left_over(target)
    refuse_place(path, overwrite)
    aside = _aside(target)
    try:
        aside.mkdir(mode=0o700)
    except OSError as error:
        # what has this name is not ours, so that nothing is cleared away
        raise cannot_write(error, target) from error
    _being_written[aside] = target
    try:
        with _held(aside):
            write(aside / NEW)
            keep_access(target, aside / NEW)
            if target.exists():
                os.replace(target, aside / OLD)
            os.replace(aside / NEW, target)
    except BaseException as error:
        _put_back(aside, target)
        _remove_for_good(aside)
        if isinstance(error, OSError):
            raise cannot_write(error, target) from error
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        del _being_written[aside]


def keep_access(old: Path, new: Path) -> None:
    """Give a file, or a folder and all in it, the mode and, where the system allows it, the owner of what it replaces.

    Where the group cannot be kept, the new group may do no more than everybody may.
    """
    try:
        facts = old.stat()
    except OSError:
        return
    mode = facts.st_mode & 0o777
    if hasattr(os, "chown") and not _owned(new, facts):
        mode &= ~0o070 | (mode & 0o007) << 3
    with suppress(OSError):
        new.chmod(mode)
    if new.is_dir():
        for entry in new.iterdir():
            keep_access(old / entry.name, entry)


def _owned(new: Path, facts: os.stat_result) -> bool:
    """Give a file the owner and the group of another one, or else the group alone; return whether that worked."""
    for owner in (facts.st_uid, -1):
        with suppress(OSError):
            os.chown(new, owner, facts.st_gid)
            return True
    return False


def checksum(whose: bytes, *parts: Any) -> int:
    """Return a checksum of bytes that belong to a piece of work: those of another one have another checksum."""
    value = zlib.crc32(whose)
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def _remove_for_good(folder: Path) -> None:
    """Remove a folder into which zarr may still be writing.

    It writes from several tasks at once, and if one of them fails the others make the folder anew a moment later.
    """
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.02)
        if not folder.exists():
            return


def remove_left_over(target: Path) -> None:
    """Remove temporary files and folders of this target that a killed process left; those being written are locked."""
    for name in glob.glob(f".{glob.escape(short_name(target))}.{'[0-9a-f]' * 8}.part", root_dir=target.parent):
        left = target.parent / name
        if not _is_ours(left):
            continue
        try:
            with _held(left) as is_free:
                if is_free and left.is_dir():
                    _put_back(left, target)
                    shutil.rmtree(left)
                elif is_free:
                    left.unlink()
        except OSError:
            # whatever the reason, it is no reason not to write
            continue


def _is_ours(left: Path) -> bool:
    """Whether this is a file, or a folder of the new and the old Zarr store, of this user; a link never is."""
    facts = left.lstat()
    if facts.st_uid != getattr(os, "geteuid", lambda: facts.st_uid)():
        return False
    if not stat.S_ISDIR(facts.st_mode):
        return stat.S_ISREG(facts.st_mode)
    own = all(path.lstat().st_uid == facts.st_uid for path in files_below(left))
    return own and {entry.name for entry in left.iterdir()} <= {NEW, OLD} and strange_in_zarr(left) is None


def remove_own() -> None:
    """Remove what this process is writing; for a process that ends at once, without returning to the writers."""
    for aside, target in list(_being_written.items()):
        if aside.is_dir():
            _put_back(aside, target)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.unlink(missing_ok=True)


def _put_back(aside: Path, target: Path) -> None:
    """Give the old folder its name again if the process ended after it was moved away and before the new one came."""
    if (aside / OLD).exists() and not target.exists():
        os.replace(aside / OLD, target)


def cannot_write(error: OSError, target: Path) -> OSError:
    """Return an error of the same kind that names the file."""
    return type(error)(f"cannot write {target}: {error.strerror or error}")


def _aside(target: Path) -> Path:
    # not tempfile: its files are readable by their owner alone, and would stay so after the renaming
    return target.with_name(f".{short_name(target)}.{secrets.token_hex(4)}.part")


def short_name(target: Path) -> str:
    """Return the name of a target, or a shorter one if the system would not accept it with what is put around it."""
    name = os.fsencode(target.name)
    if len(name) <= LONGEST_NAME:
        return target.name
    return f"{target.name[:50]}-{hashlib.sha256(name).hexdigest()[:16]}"


@contextmanager
def _held(place: Path) -> Iterator[bool]:
    """Hold a lock on a file or folder, which the system gives back however the process ends; False if another has it.

    Without locks (on Windows) nothing counts as free, so nothing left over is removed.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    number = os.open(place, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # taken by another process, or a file system without locks
            yield False
        else:
            yield True
    finally:
        os.close(number)


NAME = ".lock"
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class FolderLock:
    """Taken when it is made, until `release`; refused with a ValueError where another process, or thread, has it.

    The file stays: to delete it could take the lock away from a process that has just opened it. Where the folder
    cannot be written to, or its file system has no locks, nothing is locked.
    """

    def __init__(self, folder: Path, what: str = "checkpoint") -> None:
        self._file: IO[bytes] | None = None
        place = folder / NAME
        if place.is_symlink() or (place.exists() and not place.is_file()):
            raise ValueError(
                f"{place} is no file, and Quorate locks the {what} by it; remove it, or name another folder."
            )
        try:
            file = open(place, "ab")  # noqa: SIM115 - open as long as the lock is held
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

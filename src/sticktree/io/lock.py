"""A lock on a folder, so that two runs do not write to it at once.

The file ``lock.json`` says whose it is: the process, when that began, and the machine. One whose
process has ended, as after a crash, is stale and taken over. Of a process on another machine that
cannot be told: then people are asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOCK = "lock.json"


class FolderInUseError(ValueError):
    """Somebody else is writing to a folder.

    Parameters
    ----------
    folder : path
        The folder.
    owner : dict
        What its lock says.
    """

    def __init__(self, folder: Path, owner: dict[str, Any]) -> None:
        super().__init__(folder, owner)
        self.folder, self.owner = folder, owner

    def __str__(self) -> str:
        """Return who it is, and what can be done."""
        owner = self.owner
        if owner.get("pid") == os.getpid() and _is_here(owner):
            return f"{self.folder} is in use by another fit of this process: choose another folder"
        who = f"process {owner.get('pid')} on {owner.get('host')}, since {owner.get('since')}"
        text = f"{self.folder} is in use by {who}: wait for its end, or choose another folder"
        return text + if_gone(self.folder, owner)


def if_gone(folder: Path, owner: dict[str, Any]) -> str:
    """Return what people can do where it cannot be seen whether the owner of a lock is gone."""
    return "" if _is_here(owner) else f"; if that process is gone, remove {folder / LOCK}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have a folder for oneself; raise if somebody else has it. It is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    path, mine = folder / LOCK, _me()
    _take(path, mine)
    try:
        yield
    finally:
        if _owner(path).get("token") == mine["token"]:  # else people have removed it
            path.unlink(missing_ok=True)


def _take(path: Path, mine: dict[str, Any]) -> None:
    """Write the lock: it appears whole, and only where there is none."""
    draft = path.with_name(f".sticktree-lock-{mine['token']}")
    try:
        _write(draft, mine)
        for _ in range(3):
            try:
                _place(draft, path)
                return
            except FileExistsError:
                owner = _owner(path)
                if _is_alive(owner):
                    raise FolderInUseError(path.parent, owner) from None
            # Whoever renames a stale lock has removed it: others find none, or the next one.
            stale = path.with_name(f".sticktree-stale-{mine['token']}")
            with contextlib.suppress(FileNotFoundError):
                path.rename(stale)
            if _owner(stale).get("token") not in (None, owner.get("token")):
                stale.replace(path)  # it was taken meanwhile
            stale.unlink(missing_ok=True)
        raise FolderInUseError(path.parent, _owner(path))
    finally:
        with contextlib.suppress(OSError):  # a disk that cannot be written says so of every name
            draft.unlink()


def _write(draft: Path, mine: dict[str, Any]) -> None:
    """Write what is to be a lock; whoever else may come has to be able to read it."""
    try:
        draft.write_text(json.dumps(mine) + "\n", encoding="utf-8")
        draft.chmod(0o644)
    except OSError as error:
        error.filename = str(draft.parent)  # nobody knows the file
        raise


def _place(draft: Path, path: Path) -> None:
    """Give a file its name, unless there is one of that name."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except (OSError, AttributeError, NotImplementedError):  # no such links on this file system
        with path.open("x", encoding="utf-8") as file:
            file.write(draft.read_text(encoding="utf-8"))


def owner_of(folder: Path) -> dict[str, Any] | None:
    """Return who has a folder, or None if nobody has."""
    owner = _owner(folder / LOCK)
    return owner if _is_alive(owner) else None


def _me() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "began": _began(os.getpid()),
        "host": platform.node(),
        "space": _space(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "token": secrets.token_hex(8),
    }


def _owner(path: Path) -> dict[str, Any]:
    """Return what a lock says; nothing, if it is not there or says nothing.

    One that may not be read is somebody's: that is an error.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except PermissionError:
        raise
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_here(owner: dict[str, Any]) -> bool:
    """Return whether a lock is from this machine, whose processes can be seen."""
    return owner.get("host") == platform.node() and owner.get("space") == _space()


def _is_alive(owner: dict[str, Any]) -> bool:
    """Return whether the owner of a lock may still be there; a lock that is unreadable has none."""
    pid = owner.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return False
    if not _is_here(owner):
        return True
    if not _exists(pid):
        return False
    # The number may have been given to another process since.
    return owner.get("began") in (None, _began(pid))


def _exists(pid: int) -> bool:
    if os.name == "nt":  # there a signal would end the process
        return _exists_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)  # it is somebody else's
    return True


def _exists_on_windows(pid: int) -> bool:
    import ctypes

    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - it is only there
    handle = kernel.OpenProcess(0x1000, False, pid)  # to ask whether it is running
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == 259


def _began(pid: int) -> str | None:
    """Return when a process began, as the system counts; None where that is not known."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{fields[19]}"
    return None


def _space() -> str | None:
    """Return in which container this process is, if numbers of processes are its own there."""
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return None

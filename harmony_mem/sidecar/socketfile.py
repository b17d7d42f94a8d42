"""The socket as a file: where it lies by default, who may replace it, how it is made and taken away.

Two sidecars that start at the same moment are told apart by a lock on `PATH.lock`, held for as long as a sidecar runs.
The lock file stays behind: to remove it would open the race that it closes.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat

from harmony_mem.errors import LimitError, OptionError

__all__ = ["PATH_BYTES", "SocketFile", "check_path", "default_path"]

# sun_path holds 108 bytes; HarmonyOS's LocalSocket takes one less than the 107 that others leave for the name.
PATH_BYTES = 106
BACKLOG = 128


def default_path() -> str:
    """`$XDG_RUNTIME_DIR/harmony_mem/sidecar.sock`, else in a directory of this uid under the temporary directory.

    The latter is checked when it exists: another user could have made it first. Raises OptionError then.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return os.path.join(runtime, "harmony_mem", "sidecar.sock")
    # Not tempfile.gettempdir(): tempfile brings in random, hashlib and shutil.
    directory = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"harmony_mem-{os.getuid()}")
    try:
        state = os.lstat(directory)
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
            raise OptionError(
                f"{directory} is not a directory that belongs to uid {os.getuid()} alone (mode 0700): "
                "set XDG_RUNTIME_DIR or name a socket with --socket"
            )
    return os.path.join(directory, "sidecar.sock")


def check_path(path: str) -> None:
    """Raises OptionError for a path that no Unix socket can have."""
    length = len(os.fsencode(path))
    if not path:
        raise OptionError("the socket path is empty")
    if "\0" in path:
        raise OptionError("the socket path holds a NUL")
    if length > PATH_BYTES:
        raise OptionError(f"the socket path has {length} bytes, a Unix socket takes at most {PATH_BYTES}: {path}")


class SocketFile:
    """A listening Unix socket with its file.

    Raises OptionError for a path that can't be used, LimitError when a sidecar runs there, OSError for the rest.
    Nothing but a stale socket is ever replaced.
    """

    def __init__(self, path: str, mode: int = 0o600) -> None:
        check_path(path)
        self.path = path
        directory = os.path.dirname(path) or "."
        old = os.umask(0o077)
        try:
            os.makedirs(directory, 0o700, exist_ok=True)
            self._lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                self._take(mode)
            except BaseException:
                os.close(self._lock)
                raise
        finally:
            os.umask(old)

    def _take(self, mode: int) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LimitError(f"another sidecar runs at {self.path}") from None
        self._clear_stale()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            # bind() makes the file with the mode that umask leaves: there is no moment at which it is open to others.
            os.umask(0o777 & ~mode)
            self.socket.bind(self.path)
            self.socket.listen(BACKLOG)
            state = os.lstat(self.path)
        except BaseException:
            self.socket.close()
            raise
        self._identity = (state.st_dev, state.st_ino)

    def _clear_stale(self) -> None:
        """Removes a socket file that nobody listens on."""
        try:
            state = os.lstat(self.path)
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(state.st_mode):
            raise OptionError(f"{self.path} exists and is not a socket: it is left as it is")
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            probe.connect(self.path)
        except ConnectionRefusedError:
            os.unlink(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            # EAGAIN: its backlog is full, so somebody listens. EPROTOTYPE: a socket of another kind.
            raise LimitError(f"a program listens at {self.path} ({error.strerror}): it is left alone") from None
        else:
            raise LimitError(f"a program listens at {self.path}: it is left alone")
        finally:
            probe.close()

    def close(self) -> None:
        """Stops listening and removes the file, if it is still ours. Twice is fine."""
        if self._lock < 0:
            return
        self.socket.close()
        try:
            state = os.lstat(self.path)
            if (state.st_dev, state.st_ino) == self._identity:
                os.unlink(self.path)
        except OSError:
            pass  # gone, or no longer ours to remove
        os.close(self._lock)
        self._lock = -1

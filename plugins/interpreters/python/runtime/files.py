"""Opening what Linux has without anybody having made it, the standard streams and the null device by
their paths and the program itself, and files to append to that are read as well."""

import builtins
import io
import os

from runtime import callees

_open = io.open
_STREAMS = {
    path: number
    for number, name in enumerate(("stdin", "stdout", "stderr"))
    for path in (f"/dev/{name}", f"/dev/fd/{number}", f"/proc/self/fd/{number}")
}
_NULL = "/dev/null"
_READING = frozenset(("r", "rt", "tr", "rb", "br"))

_program = None


def adapt(source, name):
    """Only programs that name such a file or mode open files by way of Python."""
    global _program
    named = b"/dev/" in source or b"devnull" in source or b"/proc/" in source
    named = named or b"__file__" in source or b"argv" in source
    if named or b"a+" in source or b"ab+" in source:
        _program = name, source
        builtins.open = io.open = callees.names["open"] = open


def open(
    file,
    mode="r",
    buffering=-1,
    encoding=None,
    errors=None,
    newline=None,
    closefd=True,
    opener=None,
):
    """Open file and return a stream.  Raise OSError upon failure."""
    path = os.fspath(file) if isinstance(file, os.PathLike) else file
    if type(path) is str and closefd and opener is None:
        if path in _STREAMS:
            return _stream(path, mode, buffering, encoding, errors, newline)
        if path == _NULL:
            return _layered(_Null(), mode, buffering, encoding, errors, newline)
        if path == _program[0] and mode in _READING and not os.path.exists(path):
            raw = io.BytesIO(_program[1])
            return _layered(raw, mode, buffering, encoding, errors, newline)
        if type(mode) is str and "a" in mode and "+" in mode:
            raw = _appending(path)
            return _layered(raw, mode, buffering, encoding, errors, newline)
    return _open(file, mode, buffering, encoding, errors, newline, closefd, opener)


open.__module__ = "_io"


def _stream(path, mode, buffering, encoding, errors, newline):
    """The stream itself, as there is no second descriptor for it: closing this one leaves it open."""
    stream = _open(_STREAMS[path], mode, buffering, encoding, errors, newline, False)
    buffer = getattr(stream, "buffer", stream)
    getattr(buffer, "raw", buffer).name = path
    return stream


def _layered(raw, mode, buffering, encoding, errors, newline):
    if not mode or not set(mode) <= set("rwaxbt+"):
        raise ValueError(f"invalid mode: {mode!r}")
    if buffering == 0 and "b" in mode:
        return raw
    if "+" in mode:
        buffer = io.BufferedRandom(raw)
    else:
        buffer = io.BufferedReader(raw) if "r" in mode else io.BufferedWriter(raw)
    if "b" in mode:
        return buffer
    text = io.TextIOWrapper(buffer, encoding, errors, newline, buffering == 1)
    text.mode = mode
    return text


def _appending(path):
    _open(path, "ab").close()
    raw = _Appending(path, "r+")
    raw.seek(0, os.SEEK_END)
    return raw


class _Appending(io.FileIO):
    """WASI's own descriptors of this kind are always at their end."""

    def write(self, data):
        self.seek(0, os.SEEK_END)
        return io.FileIO.write(self, data)


class _Null(io.RawIOBase):
    name = _NULL

    def readable(self):
        return True

    def writable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        return 0

    def write(self, data):
        return memoryview(data).nbytes

    def seek(self, offset, whence=os.SEEK_SET):
        return 0

    def truncate(self, size=None):
        return 0

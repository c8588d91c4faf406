"""Reading "everything" as a number of bytes: CPython makes room for all of them first, which costs
nothing on Linux and here more memory than there is."""

import io
import os
import re
import sys

from runtime import callees

# Calls that say how much, methods that get another name, and numbers of a size that says
# "everything". Other programs read by C alone.
_SIZED = re.compile(rb"\bread\s*\(\s*[^)\s]")
_METHODS = re.compile(rb"\.(read1?|readlines?)\s*\(\s*[^)\s]|=[^=\n(]*\.(read1?)\b(?!\s*\()")
_LARGE = re.compile(rb"\*\*|<<|\d{8}|\de\d|maxsize")

_PART = 1 << 24
_LONGEST = 2**31 - 1
_read = os.read


def adapt(source):
    """Replaces the functions that the program calls with a size, if any size may be too large."""
    if b"read" not in source or not _LARGE.search(source):
        return
    if b"os" in source and _SIZED.search(source):
        os.read = read
    if b"stdin" in source:
        names = {(sized or renamed).decode() for sized, renamed in _METHODS.findall(source)}
        if names:
            _replace_input(names)


def read(fd, length, /):
    """Read from a file descriptor.  Returns a bytes object."""
    if type(length) is not int or length <= _PART:
        return _read(fd, length)
    return _joined(_read, fd, length)


read.__module__ = "posix"


def _replace_input(names):
    raw = _kind(io.FileIO, names)(0, "r", closefd=False)
    raw.name = "<stdin>"
    buffer = _kind(io.BufferedReader, names)(raw)
    text = _kind(io.TextIOWrapper, names)(buffer, "utf-8", "strict", "\n")
    text.mode = "r"
    sys.stdin = sys.__stdin__ = callees.names["stdin"] = text


def _kind(base, names):
    """A class whose methods of these names take sizes of 64 bits."""
    methods = {}
    for name in names & set(dir(base)):
        adapted = _bounded if name.startswith("readline") else _in_parts
        methods[name] = adapted(getattr(base, name))
    return type(base.__name__, (base,), {"__module__": "_io", **methods})


def _in_parts(method):
    def read(self, size=-1, /):
        if type(size) is not int or size <= _PART:
            return method(self, size)
        return _joined(method, self, size)

    return read


def _bounded(method):
    def read(self, size=-1, /):
        return method(self, min(size, _LONGEST) if type(size) is int else size)

    return read


def _joined(function, source, length):
    """As much as there is, up to this length."""
    parts = []
    while length > 0:
        part = function(source, min(length, _PART))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return part[:0].join(parts)

"""The standard library, imported ahead: at run time there are no files to import from."""

import contextlib
import importlib
import io
import os.path
import pkgutil
import sys

from runtime import absent

# The parts in C that CPython for WebAssembly is built without. The build fails when anything else
# cannot be imported, so that a new version of the tool cannot lose a module unseen.
_ABSENT = frozenset(
    """_bz2 _ctypes _curses _curses_panel _dbm _gdbm _hashlib _interpchannels _interpqueues
    _interpreters _lzma _multiprocessing _overlapped _posixshmem _posixsubprocess
    _remote_debugging _scproxy _ssl _tkinter _uuid _winapi _wmi _zstd fcntl grp mmap msvcrt nt
    pwd readline resource syslog termios winreg winsound""".split()
)

# For other systems, or for processes.
_ELSEWHERE = frozenset(
    """asyncio.windows_events asyncio.windows_utils encodings.mbcs encodings.oem
    multiprocessing.popen_fork multiprocessing.popen_forkserver
    multiprocessing.popen_spawn_posix""".split()
)

# Those that CPython on Linux has not either.
_FOREIGN = frozenset(
    """_overlapped _scproxy _winapi _wmi asyncio.windows_events asyncio.windows_utils
    encodings.mbcs encodings.oem msvcrt nt winreg winsound""".split()
)

# Importing these does something, or they are no use here.
_LEFT_OUT = frozenset("antigravity ensurepip idlelib test this turtledemo venv".split())

# The names that parts of `re` had before 3.13, which old programs import.
_RENAMED = {"sre_compile": "re._compiler", "sre_constants": "re._constants", "sre_parse": "re._parser"}


def preload():
    """Imports every module there is."""
    with contextlib.redirect_stdout(io.StringIO()):
        for name in sorted(_names() - _ELSEWHERE):
            try:
                importlib.import_module(name)
            except ImportError as error:
                if error.name not in _ABSENT:
                    raise
                absent.modules.add(name)
    absent.modules.update(_LEFT_OUT | _ELSEWHERE)
    absent.modules.difference_update(_FOREIGN)
    for name, part in _RENAMED.items():
        sys.modules.setdefault(name, sys.modules[part])


def _names():
    names = set(sys.stdlib_module_names - _LEFT_OUT)
    folder = os.path.dirname(pkgutil.__file__)
    for name in sorted(names):
        package = os.path.join(folder, name)
        if os.path.isdir(package):
            names.update(_submodules(package, name))
    return names


def _submodules(folder, prefix):
    for module in pkgutil.iter_modules([folder]):
        if module.name in ("__main__", "tests", "test"):
            continue
        name = f"{prefix}.{module.name}"
        yield name
        if module.ispkg:
            yield from _submodules(os.path.join(folder, module.name), name)

"""What a run begins with."""

import atexit
import builtins
import gc
import io
import logging
import os
import random
import re
import site
import sys
import time

from runtime import clocks, files, reads, threads, wide

__builtins__ = dict(vars(builtins))

_SHARED = "/tmp"
_OWN = ("plugin", "runtime", "wit_world", "componentize_py", "poll_loop")
_own_modules = []
_collections = []


def settle():
    """The last of the snapshot: nothing of the build is left, and what a first run would have
    to do once is done."""
    sys.dont_write_bytecode = True
    sys.path[:] = []
    sys.path_importer_cache.clear()
    sys.warnoptions[:] = []
    os.environ.clear()
    for setting in (site.setquit, site.setcopyright, site.sethelper):
        setting()
    _own_modules[:] = [name for name in sys.modules if name.startswith(_OWN)]
    _no_processes_to_end()
    _warm_up()
    re.purge()
    _open_streams()
    gc.collect()
    gc.freeze()
    global _collections
    _collections = _count_collections()


def _no_processes_to_end():
    from multiprocessing import util

    atexit.unregister(util._exit_function)


def _warm_up():
    """Runs what most programs run, so that its caches are part of the snapshot."""
    out = io.StringIO()
    code = compile("for i in range(3):\n    print(i, f'{i:>4}', end='', file=out)\n", "main.py", "exec")
    exec(code, {"out": out})
    import json

    json.loads(json.dumps({"a": [1, 2.5, None, "b"]}))
    "a b".encode().decode("utf-8").split()


def _open_streams():
    """The standard streams, as CPython opens them when they are pipes."""
    sys.stdin = sys.__stdin__ = _text(io.BufferedReader(_raw(0, "r")), "r", "strict")
    sys.stdout = sys.__stdout__ = _text(io.BufferedWriter(_raw(1, "w")), "w", "strict")
    sys.stderr = sys.__stderr__ = _text(io.BufferedWriter(_raw(2, "w")), "w", "backslashreplace")


def _raw(descriptor, mode):
    raw = io.FileIO(descriptor, mode, closefd=False)
    raw.name = ("<stdin>", "<stdout>", "<stderr>")[descriptor]
    return raw


def _text(buffer, mode, errors):
    text = io.TextIOWrapper(buffer, "utf-8", errors, "\n", line_buffering=errors != "strict")
    text.mode = mode
    return text


def was_collected():
    """Whether the garbage collector has run since the snapshot: only then are there old objects."""
    return _count_collections() != _collections


def _count_collections():
    return [generation["collections"] for generation in gc.get_stats()]


def renew(source, name):
    """Makes anew what must not be the same in every run of one snapshot."""
    for module in _own_modules:
        del sys.modules[module]
    # Every user of the shared generator names it; seeding is a tenth of the shortest run.
    if b"random" in source:
        random.seed()
    threads.adapt(source)
    wide.adapt(source)
    reads.adapt(source)
    files.adapt(source, name)
    clocks.renew()
    logging._startTime = time.time_ns()
    try:
        os.chdir(_SHARED)
    except OSError:
        return
    sys.path[:] = [_SHARED]

"""Threads without threads: one runs to its end when it is started.

A wait that nothing can end any more raises instead of hanging.
"""

import _thread
import _threading_local
import queue
import sys
import threading
import time
from contextlib import contextmanager

_real_sleep = time.sleep
_MAIN = _thread.get_ident()

# The identities of the threads that run now, the innermost last, and the last one given out.
_running = [_MAIN]
_last = _MAIN
# Timers that are started and not yet due, in the order of their time.
_timers = []


def install():
    for module in (_thread, threading):
        module.get_ident = get_ident
        module.stack_size = lambda size=0, /: 0
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start_new_thread
    _thread.start_joinable_thread = threading._start_joinable_thread = start_joinable_thread
    if hasattr(threading, "get_native_id"):
        _thread.get_native_id = threading.get_native_id = get_ident
    threading._ThreadHandle = _Handle
    threading.local = _threading_local.local
    _thread.allocate_lock = _thread.allocate = threading.Lock = Lock
    threading.Condition.wait = _wait
    threading.Timer.start = _start_timer
    threading.Timer.join = _join_timer
    queue.SimpleQueue = queue._PySimpleQueue
    time.sleep = sleep


def get_ident():
    """Return a non-zero integer that uniquely identifies the current thread."""
    return _running[-1]


@contextmanager
def as_thread(ident=None):
    """Runs the block under another thread's identity, by default a new one."""
    global _last
    if ident is None:
        ident = _last = _last + 1
    _running.append(ident)
    try:
        yield ident
    finally:
        _running.pop()


def start_joinable_thread(function, handle=None, daemon=True):
    """Stands in for the start that `threading.Thread` uses."""
    handle = handle if handle is not None else _Handle()
    with as_thread() as handle.ident:
        try:
            function()
        finally:
            handle._set_done()
    return handle


class _Handle:
    """What a `threading.Thread` knows of its thread."""

    ident = 0
    _done = False

    def is_done(self):
        return self._done

    def _set_done(self):
        self._done = True

    def join(self, timeout=None):
        if self._done:
            return
        if timeout is None or timeout < 0:
            raise _deadlock("a thread that waits for this one cannot be joined")
        sleep(timeout)


def start_new_thread(function, args, kwargs={}, /):
    """Start a new thread and return its identifier."""
    if not callable(function):
        raise TypeError("first arg must be callable")
    with as_thread() as ident:
        try:
            function(*args, **kwargs)
        except SystemExit:
            pass
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
    return ident


class Lock:
    """A lock; to acquire it twice is an error, as nobody could ever release it."""

    __slots__ = ("_held", "__weakref__")

    def __init__(self):
        self._held = False

    def acquire(self, blocking=True, timeout=-1):
        """Acquire the lock; false if it is held and the call may not wait for ever."""
        if not self._held:
            self._held = True
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout == -1 or timeout is None:
            raise _deadlock("the lock is never released")
        if timeout < 0:
            raise ValueError("timeout value must be a non-negative number")
        sleep(timeout)
        return False

    def release(self):
        """Release the lock."""
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self):
        """Whether the lock is held."""
        return self._held

    def __enter__(self):
        if self._held:
            raise _deadlock("the lock is never released")
        self._held = True
        return True

    def __exit__(self, *_):
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    acquire_lock, release_lock, locked_lock = acquire, release, locked

    def _at_fork_reinit(self):
        self._held = False

    def __repr__(self):
        state = "locked" if self._held else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"


Lock.__module__, Lock.__name__, Lock.__qualname__ = "_thread", "lock", "lock"


def _wait(self, timeout=None):
    """Wait until notified or until a timeout occurs."""
    if not self._is_owned():
        raise RuntimeError("cannot wait on un-acquired lock")
    if timeout is None and not _timers:
        raise _deadlock("nothing can end this wait")
    saved = self._release_save()
    try:
        if timeout is None:
            _run_next_timer()
            return True
        sleep(max(timeout, 0))
        return False
    finally:
        self._acquire_restore(saved)


def _deadlock(why):
    return RuntimeError(
        f"deadlock: {why}; here a thread runs to its end when it is started, "
        "before the thread that started it goes on"
    )


def sleep(seconds, /):
    """Delay execution for a given number of seconds."""
    if _timers:
        end = time.monotonic() + seconds
        while _timers and _timers[0].due <= end:
            _run_next_timer()
        seconds = max(0, end - time.monotonic())
    _real_sleep(seconds)


def finish():
    """What remains to be run when the program's own code has ended."""
    while _timers:
        if _timers[0].daemon:
            _timers.pop(0)
        else:
            _run_next_timer()


def _start_timer(self):
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    if self in _timers:
        raise RuntimeError("threads can only be started once")
    self.due = time.monotonic() + self.interval
    _timers.append(self)
    _timers.sort(key=lambda timer: timer.due)


def _join_timer(self, timeout=None):
    end = None if timeout is None else time.monotonic() + timeout
    while self in _timers:
        if end is not None and not self.finished.is_set() and _timers[0].due > end:
            sleep(max(0, end - time.monotonic()))
            return
        _run_next_timer()
    threading.Thread.join(self, timeout)


def _run_next_timer():
    timer = _timers.pop(0)
    if not timer.finished.is_set():
        _real_sleep(max(0, timer.due - time.monotonic()))
        timer.interval = 0
    threading.Thread.start(timer)

"""Threads without threads: one runs to its end when it is started, or when somebody waits.

A thread that waits runs those that were started and have not begun, on top of itself. One that
still has to wait then cannot be left and gone back to: it is abandoned, and if ever anything would
have woken it, the run says nothing about the program.
"""

import _thread
import _threading_local
import queue
import re
import sys
import threading
import time
from contextlib import contextmanager, suppress

from runtime import unsupported

_real_sleep = time.sleep
_real_excepthook = threading.excepthook
_MAIN = _thread.get_ident()

# A program with any of these may start a thread that has to wait at once.
_WAITING = re.compile(rb"Queue|Condition|Event|Semaphore|Barrier|\.acquire\b|\.wait\b|Pipe")

# The identities of the threads that run now, the innermost last, and the last one given out.
_running = [_MAIN]
_last = _MAIN
# Whether a thread begins only when somebody waits, and those that have not begun.
_deferring = False
_deferred = []
# Timers that are started and not yet due, in the order of their time.
_timers = []
# The identities of the threads that were abandoned, and whether the program's end would have to
# wait for one of them.
_stuck = set()
_unfinished = False


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
    threading.excepthook = threading.__excepthook__ = excepthook
    threading.Condition.wait = _wait
    threading.Timer.start = _start_timer
    threading.Timer.join = _join_timer
    queue.SimpleQueue = queue._PySimpleQueue
    queue.Queue.put = _put
    time.sleep = sleep


def adapt(source):
    """Decides for this program when its threads begin."""
    global _deferring
    _deferring = _WAITING.search(source) is not None


def get_ident():
    """Return a non-zero integer that uniquely identifies the current thread."""
    return _running[-1]


def _new_ident():
    global _last
    _last += 1
    return _last


@contextmanager
def as_thread(ident=None):
    """Runs the block under another thread's identity, by default a new one."""
    ident = _new_ident() if ident is None else ident
    _running.append(ident)
    try:
        yield ident
    finally:
        _running.pop()


@contextmanager
def at_once():
    """What is started in the block runs when it is started."""
    global _deferring
    before, _deferring = _deferring, False
    try:
        yield
    finally:
        _deferring = before


def start_joinable_thread(function, handle=None, daemon=True):
    """Stands in for the start that `threading.Thread` uses."""
    handle = handle if handle is not None else _Handle()
    handle.ident, handle.daemon = _new_ident(), daemon
    thread = getattr(function, "__self__", None)
    if _deferring and isinstance(thread, threading.Thread):
        # Its starter waits for this, and may ask for that.
        thread._ident = handle.ident
        thread._started.set()
        _deferred.append((function, handle))
    else:
        _run(function, handle)
    return handle


def _run(function, handle):
    with as_thread(handle.ident):
        try:
            function()
        finally:
            handle._set_done()


def excepthook(args, /):
    """Handle uncaught Thread.run() exception."""
    with suppress(Exception):
        unsupported.look_at(args.exc_value, args.exc_traceback)
    _real_excepthook(args)


excepthook.__module__ = "_thread"


class _Handle:
    """What a `threading.Thread` knows of its thread."""

    ident = 0
    daemon = True
    _done = False

    def is_done(self):
        return self._done

    def _set_done(self):
        self._done = True

    def join(self, timeout=None):
        while not self._done and _run_another():
            pass
        forever = timeout is None or timeout < 0
        if self._done and not (forever and self.ident in _stuck):
            return
        if forever and self._done:
            _stay_behind("the thread that is joined waits for ever")
        if forever:
            _stay_behind("a thread that waits for this one cannot be joined")
        sleep(timeout)


def start_new_thread(function, args, kwargs={}, /):
    """Start a new thread and return its identifier."""
    if not callable(function):
        raise TypeError("first arg must be callable")

    def body():
        try:
            function(*args, **kwargs)
        except SystemExit:
            pass
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)

    handle = _Handle()
    handle.ident = _new_ident()
    if _deferring:
        _deferred.append((body, handle))
    else:
        _run(body, handle)
    return handle.ident


def run_deferred():
    """Lets a thread run that was started and has not begun. False if there is none."""
    if not _deferred:
        return False
    _run(*_deferred.pop(0))
    return True


def _run_another():
    """Lets such a thread run, or else a timer. False if there is none."""
    if run_deferred():
        return True
    if not _timers:
        return False
    _run_next_timer()
    return True


def _stay_behind(why):
    """The innermost thread can never go on: it ends here without a word, so that those below it
    may. The main thread has nobody below it."""
    global _unfinished
    if len(_running) == 1:
        raise RuntimeError(f"deadlock: {why}")
    _stuck.add(_running[-1])
    _unfinished |= not getattr(threading.current_thread(), "daemon", True)
    raise SystemExit


class Lock:
    """A lock; who waits for it lets others run."""

    __slots__ = ("_held", "_missed", "__weakref__")

    def __init__(self):
        self._held = self._missed = False

    def acquire(self, blocking=True, timeout=-1):
        """Acquire the lock; false if it is held and the call may not wait for ever."""
        if not self._held:
            self._held = True
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout is not None and timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        while self._held and _run_another():
            pass
        if self._held:
            if timeout == -1 or timeout is None:
                self._missed = True
                _stay_behind("the lock is never released")
            sleep(timeout)
            return False
        self._held = True
        return True

    def release(self):
        """Release the lock."""
        if not self._held:
            raise RuntimeError("release unlocked lock")
        if self._missed:
            unsupported.note("threads that wait for each other in turn")
        self._held = False

    def locked(self):
        """Whether the lock is held."""
        return self._held

    def __enter__(self):
        if self._held:
            return self.acquire()
        self._held = True
        return True

    def __exit__(self, *_):
        self.release()

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
    waiter = Lock()
    waiter.acquire()
    self._waiters.append(waiter)
    saved = self._release_save()
    try:
        # Whoever is abandoned here stays among the waiters, so that a later word to it is noticed.
        woken = waiter.acquire(True, -1 if timeout is None else max(timeout, 0))
        if not woken:
            self._waiters.remove(waiter)
        return woken
    finally:
        self._acquire_restore(saved)


def _put(self, item, block=True, timeout=None):
    """Put an item into the queue. Where it would wait for a free slot, others could not run."""
    with self.not_full:
        if self.is_shutdown:
            raise queue.ShutDown
        if block and timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        alone = _last == _MAIN
        if 0 < self.maxsize <= self._qsize() and (alone or not block or timeout is not None):
            if block:
                self.not_full.wait(timeout)
            if self._qsize() >= self.maxsize:
                raise queue.Full
        self._put(item)
        self.unfinished_tasks += 1
        self.not_empty.notify()


def sleep(seconds, /):
    """Delay execution for a given number of seconds."""
    while run_deferred():
        pass
    if _timers:
        end = time.monotonic() + seconds
        while _timers and _timers[0].due <= end:
            _run_next_timer()
        seconds = max(0, end - time.monotonic())
    _real_sleep(seconds)


def finish():
    """What remains to be run when the program's own code has ended."""
    while _deferred or _timers:
        if not _deferred:
            if _timers[0].daemon:
                _timers.pop(0)
            else:
                _run_next_timer()
        elif _deferred[0][1].daemon:
            _deferred.pop(0)
        else:
            _run_another()
    if _unfinished:
        # Nothing has come that would have woken it, or the run would say nothing already.
        raise RuntimeError("deadlock: a thread is left that waits for ever")


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
    with at_once():
        threading.Thread.start(timer)

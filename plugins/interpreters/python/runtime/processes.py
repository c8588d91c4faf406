"""`multiprocessing` without processes: a process is a thread, which shares the program's memory."""

import itertools
import multiprocessing
import multiprocessing.context
import os
import queue
import sys
import threading
import traceback

_counter = itertools.count(1)


def install():
    shared = {name: getattr(threading, name) for name in _OF_THREADS}
    own = (Process, Queue, JoinableQueue, SimpleQueue, Pipe, Manager, Value, Array, RawValue, RawArray)
    shared |= {thing.__name__: thing for thing in own}
    shared["Pool"] = multiprocessing.Pool
    for name, thing in shared.items():
        setattr(multiprocessing, name, thing)
        for context in _contexts(multiprocessing.context.BaseContext):
            setattr(context, name, thing if isinstance(thing, type) else staticmethod(thing))


_OF_THREADS = ("Lock", "RLock", "Semaphore", "BoundedSemaphore", "Condition", "Event", "Barrier")


def _contexts(base):
    yield base
    for context in base.__subclasses__():
        yield from _contexts(context)


class Process(threading.Thread):
    """A process, which runs as a thread."""

    exitcode = None

    def __init__(self, group=None, target=None, name=None, args=(), kwargs={}, *, daemon=None):
        number = next(_counter)
        super().__init__(None, target, name or f"Process-{number}", args, dict(kwargs), daemon=daemon)
        self._number = number
        run = self.run
        self.run = lambda: self._conclude(run)

    def _conclude(self, run):
        try:
            run()
            self.exitcode = 0
        except SystemExit as error:
            code = error.code
            self.exitcode = code if isinstance(code, int) else 0 if code is None else 1
        except BaseException:
            self.exitcode = 1
            sys.stderr.write(f"Process {self.name}:\n{traceback.format_exc()}")

    @property
    def pid(self):
        return os.getpid() + self._number if self._started.is_set() else None

    @property
    def authkey(self):
        return b""

    def terminate(self):
        self.join()

    kill = close = terminate


class Queue(queue.Queue):
    """A queue between processes."""

    def close(self):
        pass

    join_thread = cancel_join_thread = close


class JoinableQueue(Queue):
    """A queue that can be waited for."""


class SimpleQueue(Queue):
    """A queue between processes."""

    def __init__(self):
        super().__init__()


class _Connection:
    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, obj):
        if self._outgoing is None:
            raise OSError("connection is read-only")
        self._outgoing.put(obj)

    def recv(self):
        if self._incoming is None:
            raise OSError("connection is write-only")
        return self._incoming.get()

    send_bytes, recv_bytes = send, recv

    def poll(self, timeout=0.0):
        return not self._incoming.empty()

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def Pipe(duplex=True):
    """Two ends of a connection."""
    one, other = Queue(), Queue()
    if duplex:
        return _Connection(one, other), _Connection(other, one)
    return _Connection(one, None), _Connection(None, one)


class RawValue:
    """A number that processes share."""

    def __init__(self, typecode_or_type, *args):
        self.value = args[0] if args else 0


class Value(RawValue):
    """A number that processes share, and its lock."""

    def __init__(self, typecode_or_type, *args, lock=True):
        super().__init__(typecode_or_type, *args)
        self._lock = threading.RLock() if lock in (True, None) else lock

    def get_lock(self):
        return self._lock

    def get_obj(self):
        return self


class RawArray(list):
    """Numbers that processes share."""

    def __init__(self, typecode_or_type, size_or_initializer):
        given = size_or_initializer
        super().__init__([0] * given if isinstance(given, int) else given)


class Array(RawArray):
    """Numbers that processes share, and their lock."""

    def __init__(self, typecode_or_type, size_or_initializer, *, lock=True):
        super().__init__(typecode_or_type, size_or_initializer)
        self._lock = threading.RLock() if lock in (True, None) else lock

    def get_lock(self):
        return self._lock

    def get_obj(self):
        return self


class Manager:
    """What processes share."""

    dict, list = dict, list
    Queue, JoinableQueue = Queue, JoinableQueue
    Value, Array = Value, Array
    Lock, RLock = staticmethod(threading.Lock), staticmethod(threading.RLock)
    Event, Condition, Semaphore = threading.Event, threading.Condition, threading.Semaphore

    class Namespace:
        def __init__(self, /, **values):
            self.__dict__.update(values)

    def start(self):
        pass

    shutdown = join = start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

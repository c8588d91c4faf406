"""Pools without workers: a task runs when it is submitted."""

import concurrent.futures
import itertools
import multiprocessing
import multiprocessing.context
import multiprocessing.pool
import threading
from concurrent.futures import _base, thread

from runtime import threads

_counter = itertools.count()


def install():
    concurrent.futures.thread.ThreadPoolExecutor = ThreadPoolExecutor
    concurrent.futures.ThreadPoolExecutor = ThreadPoolExecutor
    concurrent.futures.ProcessPoolExecutor = ProcessPoolExecutor
    process = getattr(concurrent.futures, "process", None)
    if process is not None:
        process.ProcessPoolExecutor = ProcessPoolExecutor
    multiprocessing.Pool = multiprocessing.pool.ThreadPool = multiprocessing.pool.Pool = Pool
    multiprocessing.cpu_count = lambda: 1


class _InlineExecutor(_base.Executor):
    def __init__(self, max_workers=None, prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers = max_workers or 1
        self._name = f"{prefix or f'ThreadPoolExecutor-{next(_counter)}'}_0"
        self._initializer, self._initargs = initializer, initargs
        self._shutdown = False

    def submit(self, fn, /, *args, **kwargs):
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = _base.Future()
        future.set_running_or_notify_cancel()
        worker = threading.Thread(
            target=self._perform, args=(future, fn, args, kwargs), name=self._name, daemon=True
        )
        with threads.at_once():
            worker.start()
        return future

    def _perform(self, future, fn, args, kwargs):
        try:
            if self._initializer is not None:
                initializer, self._initializer = self._initializer, None
                initializer(*self._initargs)
            result = fn(*args, **kwargs)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._shutdown = True


class ThreadPoolExecutor(_InlineExecutor):
    """An executor whose tasks run when they are submitted."""

    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        super().__init__(max_workers, thread_name_prefix, initializer, initargs)


class ProcessPoolExecutor(_InlineExecutor):
    """An executor whose tasks run when they are submitted, in this process."""

    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *,
                 max_tasks_per_child=None):
        super().__init__(max_workers, "", initializer, initargs)


for _class, _module in ((ThreadPoolExecutor, "thread"), (ProcessPoolExecutor, "process")):
    _class.__module__ = f"concurrent.futures.{_module}"


class Pool:
    """A pool whose tasks run when they are submitted, in this process."""

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None,
                 context=None):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._open = True
        if initializer is not None:
            initializer(*initargs)

    def apply(self, func, args=(), kwds={}):
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return self._submit(lambda: func(*args, **kwds), callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        items = list(iterable)
        return self._submit(lambda: [func(item) for item in items], callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        return self.starmap_async(func, iterable).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        items = list(iterable)
        return self._submit(lambda: [func(*item) for item in items], callback, error_callback)

    def imap(self, func, iterable, chunksize=1):
        self._check_open()
        return map(func, iterable)

    imap_unordered = imap

    def close(self):
        self._open = False

    terminate = close

    def join(self):
        if self._open:
            raise ValueError("Pool is still running")

    def __enter__(self):
        self._check_open()
        return self

    def __exit__(self, *_):
        self.terminate()

    def _check_open(self):
        if not self._open:
            raise ValueError("Pool not running")

    def _submit(self, task, callback, error_callback):
        self._check_open()
        outcome = _Outcome(task)
        report = callback if outcome.successful() else error_callback
        if report is not None:
            report(outcome.value)
        return outcome


class _Outcome:
    def __init__(self, task):
        try:
            self.value, self._failed = task(), False
        except Exception as error:
            self.value, self._failed = error, True

    def get(self, timeout=None):
        if self._failed:
            raise self.value
        return self.value

    def wait(self, timeout=None):
        pass

    def ready(self):
        return True

    def successful(self):
        return not self._failed

"""The time that a run has used: WASI has no such clock, and the host's begins where it likes."""

import os
import time

_used_ns = time.perf_counter_ns
_began = 0


def install():
    time.process_time = process_time
    time.process_time_ns = process_time_ns
    time.thread_time = thread_time
    time.thread_time_ns = thread_time_ns
    os.times = times


def renew():
    """To be called at the start of a run."""
    global _began
    _began = _used_ns()


def process_time():
    """Process time for profiling: the seconds that this run has taken."""
    return (_used_ns() - _began) / 1e9


def process_time_ns():
    """Process time for profiling as nanoseconds."""
    return _used_ns() - _began


def thread_time():
    """Thread time for profiling: that of the whole run."""
    return (_used_ns() - _began) / 1e9


def thread_time_ns():
    """Thread time for profiling as nanoseconds."""
    return _used_ns() - _began


def times():
    """Return a collection containing process timing information."""
    elapsed = time.monotonic()
    return os.times_result((round(process_time(), 2), 0.0, 0.0, 0.0, elapsed))

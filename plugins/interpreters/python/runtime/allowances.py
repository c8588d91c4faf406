"""The limits that a process sets itself, for programs that ask for a deep stack or an alarm: the
module `resource` and the timers of `signal`. Nothing here limits anything; the host does."""

import collections
import math
import signal
import sys
import time
import types

_INFINITY = -1
# In the numbering of Linux, with what is usual there.
_LIMITS = {
    "RLIMIT_CPU": (0, (_INFINITY, _INFINITY)),
    "RLIMIT_FSIZE": (1, (_INFINITY, _INFINITY)),
    "RLIMIT_DATA": (2, (_INFINITY, _INFINITY)),
    "RLIMIT_STACK": (3, (8 << 20, _INFINITY)),
    "RLIMIT_CORE": (4, (0, _INFINITY)),
    "RLIMIT_RSS": (5, (_INFINITY, _INFINITY)),
    "RLIMIT_NPROC": (6, (_INFINITY, _INFINITY)),
    "RLIMIT_NOFILE": (7, (1024, 1 << 20)),
    "RLIMIT_OFILE": (7, (1024, 1 << 20)),
    "RLIMIT_MEMLOCK": (8, (8 << 20, 8 << 20)),
    "RLIMIT_AS": (9, (_INFINITY, _INFINITY)),
    "RLIMIT_SIGPENDING": (11, (_INFINITY, _INFINITY)),
    "RLIMIT_MSGQUEUE": (12, (819_200, 819_200)),
    "RLIMIT_NICE": (13, (0, 0)),
    "RLIMIT_RTPRIO": (14, (0, 0)),
    "RLIMIT_RTTIME": (15, (_INFINITY, _INFINITY)),
}
_USERS = {"RUSAGE_SELF": 0, "RUSAGE_CHILDREN": -1, "RUSAGE_THREAD": 1}
_TIMERS = {"ITIMER_REAL": 0, "ITIMER_VIRTUAL": 1, "ITIMER_PROF": 2}
_RESIDENT_KIB = 40 << 10

_limits = dict(_LIMITS.values())
# When each timer would go off, and how often after that.
_timers = {}

struct_rusage = collections.namedtuple(
    "struct_rusage",
    """ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap
    ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw""",
    module="resource",
)


def install():
    module = types.ModuleType("resource", "Limits and usage of resources.")
    constants = {name: number for name, (number, _) in _LIMITS.items()} | _USERS
    for name, value in constants.items():
        setattr(module, name, value)
    module.RLIM_INFINITY = _INFINITY
    module.error = OSError
    module.struct_rusage = struct_rusage
    for function in (getpagesize, getrlimit, getrusage, prlimit, setrlimit):
        function.__module__ = "resource"
        setattr(module, function.__name__, function)
    sys.modules["resource"] = module
    signal.ItimerError = OSError
    for name, number in _TIMERS.items():
        setattr(signal, name, number)
    for function in (alarm, getitimer, setitimer):
        function.__module__ = "signal"
        setattr(signal, function.__name__, function)


def getpagesize():
    """Return the number of bytes in a page."""
    return 4096


def getrlimit(resource, /):
    """Return a tuple of the soft and the hard limit of a resource."""
    try:
        return _limits[resource]
    except KeyError:
        raise ValueError("invalid resource specified") from None


def setrlimit(resource, limits, /):
    """Set the limits of a resource, which are only remembered."""
    _, hardest = getrlimit(resource)
    limits = tuple(limits)
    if len(limits) != 2:
        raise ValueError("expected a tuple of 2 integers")
    soft, hard = (limit if limit >= 0 else math.inf for limit in limits)
    if soft > hard:
        raise ValueError("current limit exceeds maximum limit")
    if hardest != _INFINITY and hard > hardest:
        raise ValueError("not allowed to raise maximum limit")
    _limits[resource] = limits


def prlimit(pid, resource, limits=None, /):
    """Set and return the limits of a resource."""
    before = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return before


def getrusage(who, /):
    """Return what has been used."""
    if who not in _USERS.values():
        raise ValueError("invalid who parameter")
    if who == _USERS["RUSAGE_CHILDREN"]:
        return struct_rusage(0.0, 0.0, *[0] * 14)
    return struct_rusage(time.process_time(), 0.0, _RESIDENT_KIB, *[0] * 13)


def alarm(seconds, /):
    """Set an alarm that never goes off, and return the seconds that were left of the last one."""
    left, _ = setitimer(_TIMERS["ITIMER_REAL"], seconds)
    return math.ceil(left)


def setitimer(which, seconds, interval=0.0, /):
    """Set a timer that never goes off, and return what it was set to."""
    before = getitimer(which)
    _timers[which] = (time.monotonic() + seconds, float(interval)) if seconds else (0.0, 0.0)
    return before


def getitimer(which, /):
    """Return the seconds that are left of a timer, and its interval."""
    if which not in _TIMERS.values():
        raise OSError(22, "Invalid argument")
    due, interval = _timers.get(which, (0.0, 0.0))
    return max(0.0, due - time.monotonic()), interval

"""What CPython on Linux has and this Python lacks, as far as an honest program may want it:
libraries that could not be built in, and what can be asked of the system.

A program that handles the lack itself goes on and is judged. One that ends by it says nothing.
What no judge lets a program do (start a process, send a signal, call native code) is not among
it: that is the program's failure, as it would be there.
"""

import builtins
import types

__builtins__ = dict(vars(builtins))

# Filled in by `library`, as what can be imported is known there.
modules = set()

_LIBRARIES = frozenset(
    "bz2 _bz2 lzma _lzma curses _curses dbm _dbm grp mmap pwd readline sqlite3 _sqlite3".split()
)

# Of modules that are there. What a version of CPython left out is no lack.
_NAMES = {
    "os": frozenset(
        """ctermid getegid geteuid getgid getgrouplist getgroups getloadavg getlogin getpgid
        getpgrp getppid getpriority getresgid getresuid getsid getuid get_terminal_size major
        makedev minor nice posix_fallocate readv sched_get_priority_max sched_get_priority_min
        sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity statvfs sync ttyname
        umask waitstatus_to_exitcode writev PRIO_PROCESS""".split()
    ),
    "signal": frozenset(
        """pthread_sigmask siginterrupt sigpending valid_signals SIGRTMAX SIGRTMIN SIG_BLOCK
        SIG_SETMASK SIG_UNBLOCK Sigmasks""".split()
    ),
    "time": frozenset(
        """clock_settime clock_settime_ns pthread_getcpuclockid tzset CLOCK_BOOTTIME
        CLOCK_MONOTONIC_RAW CLOCK_PROCESS_CPUTIME_ID CLOCK_TAI CLOCK_THREAD_CPUTIME_ID""".split()
    ),
    "hashlib": frozenset(["scrypt"]),
    "locale": frozenset("bindtextdomain dgettext gettext textdomain".split()),
    "shutil": frozenset(["disk_usage"]),
}
_NAMES["posix"] = _NAMES["os"]


def meets(error, is_raised):
    """What that is absent ended the program by this error, or none: `is_raised` if a statement
    raised it."""
    kind = type(error)
    if is_raised:
        return None
    if kind is ModuleNotFoundError:
        return _module(error.name)
    if kind is ImportError:
        return _module(f"{error.name}.{error.name_from}") or _name(error.name, error.name_from)
    if kind is AttributeError and type(error.obj) is types.ModuleType:
        return _name(vars(error.obj).get("__name__"), error.name)
    return None


def _module(name):
    if type(name) is not str:
        return None
    package, _, _ = name.partition(".")
    is_absent = package in _LIBRARIES and (name in modules or package in modules)
    return f"the module {name}" if is_absent else None


def _name(module, name):
    return f"{module}.{name}" if name in _NAMES.get(module, ()) else None

"""What CPython on Linux has and this Python lacks: modules that could not be built in, and
functions of the system.

A program that handles the lack itself goes on and is judged. One that ends by it says nothing.
"""

import builtins
import errno
import subprocess
import types

__builtins__ = dict(vars(builtins))

# Filled in by `library`, as what can be imported is known there.
modules = set()

# Of modules that are there. What a version of CPython left out is no lack.
_NAMES = {
    "os": frozenset(
        """chown chroot copy_file_range ctermid dup2 eventfd execv execve fchdir fchmod fchown fork
        forkpty fwalk get_terminal_size getegid geteuid getgid getgrouplist getgroups getloadavg
        getlogin getpgid getpgrp getppid getpriority getrandom getresgid getresuid getsid getuid
        getxattr kill killpg lchown listxattr lockf major makedev memfd_create minor mkfifo mknod
        nice openpty pidfd_open pipe pipe2 posix_fallocate posix_spawn posix_spawnp preadv pwritev
        readv register_at_fork removexattr sched_get_priority_max sched_get_priority_min
        sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity sched_setparam
        sched_setscheduler sendfile setegid seteuid setgid setgroups setpgid setpgrp setpriority
        setregid setresgid setresuid setreuid setsid setuid setxattr spawnl spawnle spawnlp
        spawnlpe spawnv spawnve spawnvp spawnvpe splice statvfs sync system ttyname umask wait
        wait3 wait4 waitid waitpid waitstatus_to_exitcode writev WEXITSTATUS WIFEXITED WIFSIGNALED
        WNOHANG WTERMSIG PRIO_PROCESS P_NOWAIT P_WAIT""".split()
    ),
    "signal": frozenset(
        """pause pidfd_send_signal pthread_kill pthread_sigmask siginterrupt sigpending sigtimedwait
        sigwait sigwaitinfo valid_signals SIGRTMAX SIGRTMIN SIG_BLOCK SIG_SETMASK SIG_UNBLOCK
        Sigmasks""".split()
    ),
    "time": frozenset(
        """clock_settime clock_settime_ns pthread_getcpuclockid tzset CLOCK_BOOTTIME
        CLOCK_MONOTONIC_RAW CLOCK_PROCESS_CPUTIME_ID CLOCK_TAI CLOCK_THREAD_CPUTIME_ID""".split()
    ),
    "hashlib": frozenset(["scrypt"]),
    "locale": frozenset("bindtextdomain dgettext gettext textdomain".split()),
    "multiprocessing.managers": frozenset(["SharedMemoryManager"]),
    "select": frozenset("epoll EPOLLIN EPOLLOUT PIPE_BUF".split()),
    "selectors": frozenset(["EpollSelector"]),
    "shutil": frozenset(["disk_usage"]),
    "socket": frozenset("AF_UNIX if_nameindex recv_fds send_fds sethostname".split()),
}
_NAMES["posix"] = _NAMES["os"]

# The library refuses to start any.
_STARTS_PROCESS = frozenset((subprocess.Popen.__init__.__code__,))


def meets(error, code, is_raised):
    """What that is absent ended the program by this error, or none: `code` is where it comes from,
    and whether a statement there raised it."""
    kind = type(error)
    if kind is OSError and error.errno == errno.ENOTSUP and code in _STARTS_PROCESS:
        return "processes"
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
    return f"the module {name}" if name in modules or package in modules else None


def _name(module, name):
    return f"{module}.{name}" if name in _NAMES.get(module, ()) else None

"""The recursion limit as a program sees it: frames of the runner and of our shims do not count."""

import sys

_MOST = 2**31 - 1
_OWN_FRAMES = 3

_set_real = sys.setrecursionlimit
_limit = 1000
_granted = 0


def install():
    sys.setrecursionlimit = setrecursionlimit
    sys.getrecursionlimit = getrecursionlimit
    _apply()


def setrecursionlimit(limit, /):
    """Set the maximum depth of the Python interpreter stack to n."""
    global _limit
    _set_real(limit)
    _limit = limit
    _apply()


def getrecursionlimit():
    """Return the current value of the recursion limit."""
    return _limit


def grant(frames):
    """Allows so many frames that are not the program's own."""
    global _granted
    _granted = frames
    _apply()


def restore():
    """Room to end a run in, whatever the program set."""
    _set_real(_MOST if _limit + _granted > _MOST - 1000 else _limit + _granted + 1000)


def _apply():
    _set_real(min(_MOST, _limit + _granted + _OWN_FRAMES))

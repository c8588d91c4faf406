"""What the program asked for and this Python cannot do, though CPython on Linux can.

Such a run says nothing about the program, so the host gives no verdict on it. What CPython cannot
do either stays an error of the program's own, above all sequences too long for any memory.

A harness that catches what a program's functions raise asks `is_own`, and lets such an error end
the run.
"""

import ast
import builtins
import itertools
import linecache
import opcode
import re
import sys
import types

from runtime import absent

__builtins__ = dict(vars(builtins))

# No class is called so by accident: see `trace.name_of`.
NAME = "troupe:unsupported"
# What `OverflowError` and `ValueError` say where a C integer of 32 bits was too small. An `int` of
# C is as small on Linux, and a `long long` as large here.
_NARROW = re.compile(r"\bC (ssize_t|size_t|(unsigned )?long(?! long))\b|index-sized|<= sys\.maxsize")
# Calls that make something as long as the number says: 64 bits would not help.
_MAKERS = frozenset(
    """bytearray bytes center combinations frozenset list ljust permutations print product range
    rjust set sorted str tuple zfill""".split()
)
_OPCODES = opcode.opname
_KINDS = (OverflowError, ValueError, ModuleNotFoundError, ImportError, AttributeError)
# Where a harness, which is a program as any other here, finds `is_own`.
_MODULE = "_troupe_errors"

_reason = None


def install():
    module = types.ModuleType(_MODULE)
    module.is_own = is_own
    sys.modules[_MODULE] = module


def note(reason):
    """Remembers what this run cannot do; the first reason counts."""
    global _reason
    _reason = _reason or reason


def reason():
    """Why the run says nothing, or none."""
    return _reason


def is_own(error):
    """Whether only this Python raises this error, which is being handled."""
    try:
        reason, lacks_memory = _cause(error, error.__traceback__)
    except Exception:
        return False
    return reason is not None or lacks_memory


def look_at(error, trace):
    """Notes an error that only this Python raises. True if it stands for a lack of memory instead,
    which is what 64 bits would have made of it."""
    reason, lacks_memory = _cause(error, trace)
    if reason is not None:
        note(reason)
    return lacks_memory


def _cause(error, trace):
    """What is lacking if only this Python raises such an error, and whether that is memory."""
    if type(error) not in _KINDS:
        return None, False
    code, at = _origin(trace)
    operation = _OPCODES[code.co_code[at]]
    is_raised = operation == "RAISE_VARARGS" or operation == "RERAISE"
    lacked = absent.meets(error, is_raised)
    if lacked is not None:
        return f"the interpreter lacks {lacked}", False
    if is_raised or not _is_narrow(error):
        return None, False
    if not operation.startswith("CALL") or _callee(code, at) in _MAKERS:
        return None, type(error) is OverflowError
    return f"the interpreter's 32-bit limit ({error})", False


def _origin(trace):
    """The code that an error comes from, and where in it; the import system's own left out."""
    origin = trace
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith("<frozen importlib"):
            origin = trace
        trace = trace.tb_next
    return origin.tb_frame.f_code, origin.tb_lasti


def _is_narrow(error):
    return type(error) in (OverflowError, ValueError) and _NARROW.search(str(error)) is not None


def _callee(code, at):
    """The last part of the name of what is called there, if the program's text says it."""
    line, last_line, column, end = next(itertools.islice(code.co_positions(), at // 2, None))
    if None in (line, last_line, column, end):
        return None
    lines = linecache.getlines(code.co_filename)[line - 1 : last_line]
    lines = [line.rstrip("\n").encode() for line in lines]
    if not lines:
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    try:
        call = ast.parse(b"(" + b"\n".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return None
    function = getattr(call, "func", None)
    return getattr(function, "attr", None) or getattr(function, "id", None)

"""What is said about an exception that nobody caught."""

import builtins
import linecache
import traceback

# A program may break what all modules share; the runner's own names outlive that.
__builtins__ = dict(vars(builtins))

_FRAMES = 8
_LONGEST = 16_000

_name_of = type.__dict__["__name__"].__get__
_TracebackException = traceback.TracebackException


def name_of(error):
    """The name of an exception's class. A colon would mean that it is none."""
    return printable(_name_of(type(error))).replace(":", "_")


def own_traceback(error, runner_code):
    """The error's traceback from the program's first frame on."""
    found = trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code in runner_code:
        trace = trace.tb_next
    return trace if trace is not None else found


def describe(error, trace):
    """The last frames and the message, as CPython prints them; as much of it as can be had."""
    for attempt in (_in_full, _without_frames):
        try:
            return printable(attempt(error, trace))
        except BaseException:
            continue
    return name_of(error) + "\n"


def _in_full(error, trace):
    report = _TracebackException(type(error), error, trace, limit=-_FRAMES, compact=True)
    return "".join(report.format())


def _without_frames(error, _):
    report = _TracebackException(type(error), error, None, compact=True)
    return "".join(report.format_exception_only())


def syntax_message(error):
    """The parser's message with the line it is about."""
    message = getattr(error, "msg", None)
    if not isinstance(message, str):
        message = str(error) or "the program is nested too deeply"
    line = getattr(error, "lineno", None)
    where = f" (line {line})" if isinstance(line, int) else ""
    return printable(f"{name_of(error)}: {message}{where}")


def printable(text):
    """Text that can cross the contract: no lone surrogates, and not too much of it."""
    if len(text) > _LONGEST:
        half = _LONGEST // 2
        text = f"{text[:half]}\n...\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def show_source(name, source):
    """Lets tracebacks quote the program's lines; decoded only when one does."""

    def lines():
        import io
        import tokenize

        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding, "replace")

    linecache.cache[name] = (lines,)

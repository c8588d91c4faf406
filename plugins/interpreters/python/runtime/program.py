"""One run of a program: from its bytes to how it ended."""

import atexit
import builtins
import gc
import sys
import types

from runtime import recursion, startup, threads, trace, unsupported

# A program may break what all modules share; the runner's own names outlive that.
__builtins__ = dict(vars(builtins))

NAME = "main.py"

_collect = gc.collect
_run_exit_functions = atexit._run_exitfuncs
_system_hook = sys.__excepthook__
_modules = sys.modules
_sys = vars(sys)
_gettrace, _settrace = sys.gettrace, sys.settrace
_getprofile, _setprofile = sys.getprofile, sys.setprofile
_module_type = types.ModuleType

_CLOSING_FAILED = 120


def run(source, arguments):
    """Runs a program to its end: `exited` with a code, `failed` with a name and a trace, or
    `malformed` with a message."""
    try:
        startup.renew(source, NAME)
        streams = sys.stdout, sys.stderr
        sys.argv = [NAME, *arguments]
        sys.orig_argv = ["python3", *sys.argv]
        trace.show_source(NAME, source)
        try:
            code = compile(source, NAME, "exec", dont_inherit=True)
        except BaseException as error:
            return _malformed(error, streams)
        main = _main_module()
        _modules["__main__"] = main
        ending = _execute(code, vars(main))
        del code, main
        ending = _close(ending, streams)
        reason = unsupported.reason()
        return ending if reason is None else ("failed", (unsupported.NAME, reason))
    except BaseException as error:
        return "failed", (trace.name_of(error), trace.describe(error, None))


def _main_module():
    main = _module_type("__main__")
    main.__file__ = NAME
    main.__cached__ = None
    main.__builtins__ = builtins
    return main


def _malformed(error, streams):
    _write(trace.describe(error, None))
    _flush(*streams)
    return "malformed", trace.syntax_message(error)


def _execute(code, namespace):
    try:
        try:
            exec(code, namespace)
        finally:
            threads.finish()
    except SystemExit as error:
        return _exited(error)
    except BaseException as error:
        return _failed(error)
    return "exited", 0


def _exited(error):
    """The exit code that the system would see."""
    try:
        code = error.code
    except BaseException:
        return "exited", 1
    if code is None:
        return "exited", 0
    if issubclass(type(code), int):
        code = int(code) if type(code) is bool else code
        fits = -(2**63) <= int.__index__(code) < 2**63
        return "exited", int.__and__(code, 255) if fits else 255
    try:
        text = str(code) + "\n"
    except BaseException:
        text = ""
    _write(text)
    return "exited", 1


def _failed(error):
    _at_rest()
    frames = trace.own_traceback(error, _OWN_CODE)
    lacks_memory = _lacks_memory(error, frames)
    error.__traceback__ = frames
    text = trace.describe(error, frames)
    hook = _sys.get("excepthook", _system_hook)
    if hook is _system_hook:
        _flush_quietly(_sys.get("stdout"))
        _write(text)
    else:
        _call_hook(hook, error, frames, text)
    return "failed", ("MemoryError" if lacks_memory else trace.name_of(error), text)


def _lacks_memory(error, frames):
    try:
        return unsupported.look_at(error, frames)
    except BaseException:
        return False


def _call_hook(hook, error, frames, text):
    try:
        hook(type(error), error, frames)
    except BaseException as another:
        _write("Error in sys.excepthook:\n" + trace.describe(another, another.__traceback__))
        _write("\nOriginal exception was:\n" + text)


def _close(ending, streams):
    """What an interpreter does at its end: exit functions, open files, finalizers."""
    _at_rest()
    _run_exit_functions()
    flushed = _flush(_sys.get("stdout"), _sys.get("stderr"))
    _modules.pop("__main__", None)
    _forget()
    if startup.was_collected():
        _collect()
    else:
        _collect(0)
    _at_rest()
    flushed &= _flush(_sys.get("stdout"), _sys.get("stderr"))
    _flush(*streams)
    if not flushed and ending[0] == "exited":
        return "exited", _CLOSING_FAILED
    return ending


def _forget():
    """Lets go of what an interactive Python would keep of an error."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        _sys.pop(name, None)


def _at_rest():
    """No tracing any more, and room on the stack, whatever the program set."""
    if _gettrace() is not None:
        _settrace(None)
    if _getprofile() is not None:
        _setprofile(None)
    recursion.restore()


def _write(text):
    stream = _sys.get("stderr")
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except BaseException:
        return


def _flush(*streams):
    """Whether all streams that are open could be flushed."""
    flushed = True
    for stream in streams:
        if stream is None:
            continue
        try:
            if not stream.closed:
                stream.flush()
        except AttributeError:
            flushed &= _flushes(stream)
        except BaseException:
            flushed = False
    return flushed


def _flushes(stream):
    try:
        stream.flush()
    except BaseException:
        return False
    return True


def _flush_quietly(stream):
    _flush(stream)


_OWN_CODE = frozenset((_execute.__code__,))

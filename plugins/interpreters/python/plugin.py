"""The component's exports. What this module's import leaves in memory is the
snapshot that every run starts from, so everything slow happens here, once."""

import sys

from runtime import library

library.preload()

from runtime import (
    allowances,
    callees,
    clocks,
    dates,
    event_loop,
    executors,
    memoise,
    passwords,
    processes,
    recursion,
    threads,
    unsupported,
    wide,
)

recursion.install()
memoise.install()
threads.install()
executors.install()
processes.install()
event_loop.install()
wide.install()
clocks.install()
dates.install()
allowances.install()
passwords.install()
callees.install()
unsupported.install()

from runtime import program, startup
from wit_world import exports
from wit_world.exports.interpreter import (
    Description,
    Ending_Exited,
    Ending_Failed,
    Ending_Malformed,
)

# The tool would import these after us: then they would stay visible to programs.
from wit_world.imports import log, streams  # noqa: F401

_VERSION = "CPython " + sys.version.split()[0]
_ENDINGS = {
    "exited": Ending_Exited,
    "failed": Ending_Failed,
    "malformed": Ending_Malformed,
}


class Interpreter(exports.Interpreter):
    """The interface `interpreter` of the contract."""

    def describe(self):
        return Description(
            "python",
            _VERSION,
            "Runs Python programs with nearly the whole standard library.",
        )

    def run(self, source, arguments, *, _run=program.run, _endings=_ENDINGS):
        kind, value = _run(source, arguments)
        return _endings[kind](value)


startup.settle()

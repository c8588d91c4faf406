"""Run model-written programs.

Whoever imports this module asks the host for its sandbox; the host has it only
for plugins that its user granted it, as in `host train --grant NAME=sandbox`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a run may use; the host caps every number."""

    fuel: float = 250e9
    timeout_ms: int = 360_000
    memory_mib: int = 512
    output_bytes: int = 1 << 20


@dataclass(frozen=True)
class Exited:
    """The program ended by itself with this exit code."""

    value: int


@dataclass(frozen=True)
class Failed:
    """It was ended by an error: the error's name and a short trace."""

    value: tuple[str, str]


@dataclass(frozen=True)
class Malformed:
    """It is not a program of the language: the parser's message."""

    value: str


@dataclass(frozen=True)
class OutOfFuel:
    """It used up its fuel."""


@dataclass(frozen=True)
class OutOfTime:
    """It met the wall-clock guard."""


@dataclass(frozen=True)
class OutOfMemory:
    """It used up its memory."""


@dataclass(frozen=True)
class OutputFlood:
    """It wrote more than it may."""


@dataclass(frozen=True)
class Crashed:
    """It crashed the interpreter."""

    value: str


Ending = Exited | Failed | Malformed | OutOfFuel | OutOfTime | OutOfMemory | OutputFlood | Crashed
"""How a run ended."""


@dataclass(frozen=True)
class Execution:
    """What a run left behind."""

    ending: Ending
    stdout: bytes
    stderr: bytes
    fuel: float


@dataclass(frozen=True)
class UnknownLanguage:
    """No interpreter for this language is loaded."""

    value: str


@dataclass(frozen=True)
class Harness:
    """The harness itself failed; the run may be tried again."""

    value: str


class NoExecution(Exception):
    """Why there is no execution: `reason` is `UnknownLanguage` or `Harness`. It is
    never the program's fault."""

    def __init__(self, reason: UnknownLanguage | Harness) -> None:
        super().__init__(reason.value)
        self.reason = reason


def run(language: str, program: str, stdin: bytes = b"", limits: Limits = Limits()) -> Execution:
    """Run one program on one input, in a fresh instance."""
    return _run(language, program, stdin, limits)


def run_batch(
    language: str, program: str, stdins: list[bytes], limits: Limits = Limits()
) -> list[Execution | NoExecution]:
    """Run one program on many inputs, each in a fresh instance."""
    return _run_batch(language, program, stdins, limits)


def _run(language: str, program: str, stdin: bytes, limits: Limits) -> Execution:
    raise NoExecution(Harness("there is no sandbox outside a host"))


def _run_batch(
    language: str, program: str, stdins: list[bytes], limits: Limits
) -> list[Execution | NoExecution]:
    return [NoExecution(Harness("there is no sandbox outside a host"))] * len(stdins)

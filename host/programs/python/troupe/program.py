"""The program `host`: where it is, and how it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .errors import ProgramError, TroupeError

PACKAGE = Path(__file__).resolve().parent


def find_program() -> Path:
    """The program of this installation; the environment variable TROUPE_PROGRAM names another."""
    named = os.environ.get("TROUPE_PROGRAM")
    if named:
        return Path(named)
    # Beside the package (`pip install --target`), or below the prefix of its Python.
    for prefix in [*PACKAGE.parents][:4:3]:
        # Alone, `host` may be another program.
        if all((prefix / "bin" / name).is_file() for name in ("host", "troupe")):
            return prefix / "bin" / "host"
    found = shutil.which("troupe")
    if found is None:
        raise TroupeError("the program `host` is missing: install the wheel again")
    return Path(found)


def environment() -> dict[str, str]:
    """What the program finds in its environment: no colors, for its words become messages."""
    return {**os.environ, "NO_COLOR": "1"}


def error_of(said: str, exit_code: int) -> ProgramError:
    """The error of a program that ended so, from what it said on standard error."""
    _, found, message = ("\n" + said).rpartition("\nerror: ")
    if not found:
        message = said
    return ProgramError(message.strip() or f"`host` ended with {exit_code}", exit_code)


def call(*arguments: str | os.PathLike[str]) -> str:
    """Run the program with these arguments, and return what it writes to standard output.

    >>> troupe.call("eval", "--run", run.path, "--json")
    """
    command = [find_program(), *arguments]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise error_of(ended.stderr, ended.returncode)
    return ended.stdout

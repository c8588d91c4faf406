"""What can go wrong."""

from __future__ import annotations


class TroupeError(Exception):
    """The root of what is raised here."""


class ProgramError(TroupeError):
    """The program ended without doing what it was asked to.

    `exit_code` says why in a number (the README lists them), `message` in the program's own words.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class RequestError(TroupeError):
    """A server did not do what it was asked to; `code` is its word for why."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code

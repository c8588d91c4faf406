"""Programs run and graded in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from .server import Server


class Verdict(TypedDict, total=False):
    """What came of a program, as docs/grading.md has it."""

    verdict: str
    passed: int
    total: int
    first_failure: int | None
    cause: str | None
    detail: str | None
    fuel: int
    wall_ms: int
    memory_bytes: int
    language: str
    interpreter: str


class Grader(Server):
    """A grader of our own.

    >>> with Grader() as grader:
    ...     grader.grade(program="print(int(input()) * 2)", tests=[{"input": "4", "output": "8"}])
    """

    def __init__(self, *, jobs: int = 0) -> None:
        super().__init__(["--grader", "--jobs", str(jobs)])

    def grade(
        self,
        *,
        tests: Sequence[Mapping[str, object]] | None = None,
        problem: Mapping[str, object] | None = None,
        program: str | None = None,
        completion: str | None = None,
        **fields: object,
    ) -> Verdict:
        """The verdict on one program, or on the program in a completion.

        Further fields are those of `POST /grade` (docs/server.md): `language`, `compare`, `fuel`, …
        """
        return cast(
            Verdict,
            self.post(
                "/grade", _given(tests, problem, program=program, completion=completion, **fields)
            ),
        )

    def grade_all(
        self,
        *,
        tests: Sequence[Mapping[str, object]] | None = None,
        problem: Mapping[str, object] | None = None,
        programs: Sequence[str | None] | None = None,
        completions: Sequence[str | None] | None = None,
        **fields: object,
    ) -> list[Verdict]:
        """The verdicts on several programs, in their order; leave out those that are `void`."""
        asked = _given(tests, problem, programs=programs, completions=completions, **fields)
        return cast("list[Verdict]", self.post("/grade", asked)["verdicts"])

    def run(
        self, code: str, *, language: str = "python", stdin: str | None = None, **fields: object
    ) -> dict[str, Any]:
        """What a program does: the answer of `POST /run_code` (docs/server.md)."""
        asked = {"code": code, "language": language, "stdin": stdin, **fields}
        return cast("dict[str, Any]", self.post("/run_code", asked))


def _given(
    tests: Sequence[Mapping[str, object]] | None,
    problem: Mapping[str, object] | None,
    **fields: object,
) -> dict[str, object]:
    """Only what was given."""
    asked = {"tests": tests, "problem": problem, **fields}
    return {key: value for key, value in asked.items() if value is not None}

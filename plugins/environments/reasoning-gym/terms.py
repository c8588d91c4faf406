"""A stand-in for sympy's symbols where many sums are drawn and one is kept: a sum knows
its value at once, and sympy reads it only when it is written."""

from __future__ import annotations

import operator
from typing import Any, Callable

import sympy


class Term:
    """A symbol, or two terms joined by an operation."""

    def __init__(self, name: str, join: Callable[[Any, Any], Any] | None = None, *parts: Term) -> None:
        self._name, self._join, self._parts = name, join, parts

    def __add__(self, other: Term) -> Term:
        return Term("", operator.add, self, other)

    def __sub__(self, other: Term) -> Term:
        return Term("", operator.sub, self, other)

    def __mul__(self, other: Term) -> Term:
        return Term("", operator.mul, self, other)

    def __truediv__(self, other: Term) -> Term:
        return Term("", operator.truediv, self, other)

    def __str__(self) -> str:
        return str(self._of(lambda symbol: sympy.Symbol(symbol._name)))

    def subs(self, values: dict[Term, int]) -> float:
        """Its value, where the symbols have these and every division comes out even."""
        return self._of(values.__getitem__)

    def _of(self, leaf: Callable[[Term], Any]) -> Any:
        if self._join is None:
            return leaf(self)
        return self._join(*(part._of(leaf) for part in self._parts))


def symbols(names: str) -> list[Term]:
    """As sympy's, for names like `x:4`."""
    name, _, count = names.partition(":")
    return [Term(f"{name}{index}") for index in range(int(count))]

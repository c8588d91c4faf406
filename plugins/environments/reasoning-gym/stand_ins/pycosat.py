"""Satisfying assignments by trying, with unit propagation: enough for puzzles of
some hundred variables."""

from __future__ import annotations

from typing import Iterable, Iterator

Clause = tuple[int, ...]


def solve(clauses: Iterable[Iterable[int]]) -> list[int] | str:
    """The first assignment, or `UNSAT`."""
    return next(itersolve(clauses), "UNSAT")


def itersolve(clauses: Iterable[Iterable[int]]) -> Iterator[list[int]]:
    """All assignments of all variables."""
    formula = _Formula([tuple(dict.fromkeys(clause)) for clause in clauses])
    if formula.begin():
        yield from formula.search()


class _Formula:
    def __init__(self, clauses: list[Clause]) -> None:
        self.clauses = clauses
        self.count = max((abs(literal) for clause in clauses for literal in clause), default=0)
        # 1 if a literal is true, -1 if it is false, 0 if nothing is known. Those of
        # negative literals are at the end, where negative indices find them.
        self.value = [0] * (2 * self.count + 1)
        self.trail: list[int] = []
        self.containing: dict[int, list[Clause]] = {}
        for clause in clauses:
            for literal in clause:
                self.containing.setdefault(literal, []).append(clause)

    def begin(self) -> bool:
        """What follows from clauses of one literal."""
        return all(
            self.assign(clause[0]) if len(clause) == 1 else bool(clause) for clause in self.clauses
        )

    def assign(self, literal: int) -> bool:
        """Make it true, and whatever follows from that; whether that can be."""
        value, waiting = self.value, [literal]
        while waiting:
            literal = waiting.pop()
            known = value[literal]
            if known < 0:
                return False
            if known:
                continue
            value[literal], value[-literal] = 1, -1
            self.trail.append(literal)
            for clause in self.containing.get(-literal, ()):
                left = 0
                for other in clause:
                    known = value[other]
                    if known > 0:
                        break
                    if known == 0:
                        if left:
                            break
                        left = other
                else:
                    if not left:
                        return False
                    waiting.append(left)
        return True

    def undo(self, length: int) -> None:
        while len(self.trail) > length:
            literal = self.trail.pop()
            self.value[literal] = self.value[-literal] = 0

    def undecided(self) -> int:
        """A literal of the shortest clause that is not satisfied, or any."""
        value, best, shortest = self.value, 0, len(self.value) + 1
        for clause in self.clauses:
            known = [value[literal] for literal in clause]
            if 1 in known:
                continue
            free = [literal for literal in clause if not value[literal]]
            if len(free) < shortest:
                best, shortest = free[0], len(free)
                if shortest <= 2:
                    break
        if best:
            return best
        return next((place for place in range(1, self.count + 1) if not self.value[place]), 0)

    def search(self) -> Iterator[list[int]]:
        """Every assignment, without recursion."""
        choices: list[tuple[int, int]] = []
        consistent = True
        while True:
            literal = self.undecided() if consistent else 0
            if literal:
                choices.append((len(self.trail), -literal))
                consistent = self.assign(literal)
                continue
            if consistent:
                yield [place * self.value[place] for place in range(1, self.count + 1)]
            if not choices:
                return
            length, other = choices.pop()
            self.undo(length)
            consistent = self.assign(other)

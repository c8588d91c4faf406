"""Chance that can be repeated: numbers that follow from a task alone."""

from __future__ import annotations

from typing import MutableSequence, Sequence, TypeVar

T = TypeVar("T")

_BITS = (1 << 64) - 1


class Random:
    """A small deterministic generator (SplitMix64), the same in every language.

    `task.random("walls")` makes one. Two purposes give unrelated numbers, so
    drawing more of one thing does not change another.
    """

    __slots__ = ("state",)

    def __init__(self, state: int) -> None:
        self.state = state

    @classmethod
    def of(cls, split: int, seed: int, purpose: str) -> Random:
        """The numbers of one task for one purpose."""
        return cls(hash_of(bytes([split]) + seed.to_bytes(4, "little") + purpose.encode()))

    def bits(self) -> int:
        """Sixty-four random bits."""
        self.state = (self.state + 0x9E37_79B9_7F4A_7C15) & _BITS
        return _mix(self.state)

    def below(self, bound: int) -> int:
        """A number below `bound`, all equally likely; 0 when `bound` is 0."""
        return self.bits() * bound >> 64

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def number(self) -> float:
        """A real number from 0, which is included, to 1, which is not."""
        return (self.bits() >> 11) / (1 << 53)

    def choose(self, items: Sequence[T]) -> T:
        """One of `items`, all equally likely."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Bring `items` into a random order, all equally likely."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` of `items`, each at most once, in a random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def hash_of(data: bytes) -> int:
    """A hash that is the same on every machine and in every version: FNV-1a with
    SplitMix64's finalizer."""
    value = 0xCBF2_9CE4_8422_2325
    for byte in data:
        value = (value ^ byte) * 0x0100_0000_01B3 & _BITS
    return _mix(value)


def _mix(bits: int) -> int:
    bits = (bits ^ bits >> 30) * 0xBF58_476D_1CE4_E5B9 & _BITS
    bits = (bits ^ bits >> 27) * 0x94D0_49BB_1331_11EB & _BITS
    return bits ^ bits >> 31

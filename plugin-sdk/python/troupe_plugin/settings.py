"""What a plugin lets its users choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Sequence

from .types import Settings


@dataclass(frozen=True)
class IntegerValue:
    value: int


@dataclass(frozen=True)
class NumberValue:
    value: float


@dataclass(frozen=True)
class FlagValue:
    value: bool


@dataclass(frozen=True)
class TextValue:
    value: str


@dataclass(frozen=True)
class IntegerDomain:
    value: tuple[int, int]


@dataclass(frozen=True)
class NumberDomain:
    value: tuple[float, float]


@dataclass(frozen=True)
class FlagDomain:
    pass


@dataclass(frozen=True)
class ChoiceDomain:
    value: list[str]


@dataclass(frozen=True)
class TextDomain:
    pass


@dataclass(frozen=True)
class Setting:
    """One setting a user may put into the plugin's table of a config."""

    name: str
    summary: str
    domain: Any
    default: Any

    @classmethod
    def integer(cls, name: str, summary: str, low: int, high: int, default: int) -> Setting:
        """A whole number from `low` to `high`, both included."""
        return cls(name, summary, IntegerDomain((low, high)), IntegerValue(default))

    @classmethod
    def number(cls, name: str, summary: str, low: float, high: float, default: float) -> Setting:
        """A real number from `low` to `high`, both included."""
        domain = NumberDomain((float(low), float(high)))
        return cls(name, summary, domain, NumberValue(float(default)))

    @classmethod
    def flag(cls, name: str, summary: str, default: bool) -> Setting:
        """Yes or no."""
        return cls(name, summary, FlagDomain(), FlagValue(default))

    @classmethod
    def choice(cls, name: str, summary: str, words: Sequence[str]) -> Setting:
        """One of several words; the first is the default."""
        return cls(name, summary, ChoiceDomain(list(words)), TextValue(words[0]))

    @classmethod
    def text(cls, name: str, summary: str, default: str = "") -> Setting:
        """Any string."""
        return cls(name, summary, TextDomain(), TextValue(default))

    def accepts(self, value: object) -> bool:
        """Whether it is a value of the setting."""
        match self.domain:
            case IntegerDomain((low, high)):
                return type(value) is int and low <= value <= high
            case NumberDomain((low, high)):
                return isinstance(value, (int, float)) and low <= value <= high
            case FlagDomain():
                return isinstance(value, bool)
            case ChoiceDomain(words):
                return value in words
        return isinstance(value, str)


@dataclass(frozen=True)
class Configured:
    """A setting with its value, as the host hands it over."""

    name: str
    value: Any


def defaults(declared: Iterable[Setting]) -> Settings:
    """The default of every declared setting."""
    return Settings.given(Configured(setting.name, setting.default) for setting in declared)


def written(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{quoted}"'
    return repr(value)

"""What a plugin lets its users choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

from .types import Problem, Settings


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

    def accepts(self, value: Any) -> bool:
        """Whether it is a value of the setting, in the contract's form."""
        if type(value) is not type(self.default):
            return False
        match self.domain:
            case IntegerDomain((low, high)) | NumberDomain((low, high)):
                return low <= value.value <= high
            case ChoiceDomain(words):
                return value.value in words
        return True

    @property
    def wanted(self) -> str:
        """What its values are, in words."""
        match self.domain:
            case IntegerDomain((low, high)):
                return f"a whole number from {low} to {high}"
            case NumberDomain(ends):
                low, high = (repr(end).removesuffix(".0") for end in ends)
                return f"a number from {low} to {high}"
            case FlagDomain():
                return "true or false"
            case ChoiceDomain(words):
                return "one of " + ", ".join(map(written, words))
        return "a string"


@dataclass(frozen=True)
class Configured:
    """A setting with its value, as the host hands it over."""

    name: str
    value: Any


def checked(declared: Iterable[Setting], given: Sequence[Configured]) -> Settings:
    """The values by name, unless one is outside of its domain, or of no setting."""
    by_name = {setting.name: setting for setting in declared}
    for each in given:
        setting = by_name.get(each.name)
        if setting is None:
            raise Problem.settings(f"there is no setting `{each.name}`")
        if not setting.accepts(each.value):
            value = written(each.value.value)
            raise Problem.settings(f"`{each.name}` is {value}, but must be {setting.wanted}")
    return Settings.given(given)


def chosen(declared: Sequence[Setting], values: Mapping[str, Any]) -> Settings:
    """The defaults but for these, for tests; checked as a component would."""
    all = {setting.name: setting.default for setting in declared}
    for name, value in values.items():
        is_number = isinstance(all.get(name), NumberValue) and type(value) is int
        kind = NumberValue if is_number else _VALUES.get(type(value), TextValue)
        all[name] = kind(value)
    return checked(declared, [Configured(name, value) for name, value in all.items()])


_VALUES = {int: IntegerValue, float: NumberValue, bool: FlagValue, str: TextValue}


def written(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{quoted}"'
    return repr(value)

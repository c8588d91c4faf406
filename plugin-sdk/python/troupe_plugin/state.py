"""What `save` and `resume` do by default: the fields of a dataclass, as bytes.

What is looked up about a class is looked up once and kept, so that in a
component, which is a snapshot taken after that, a resumed episode costs little
more than reading its bytes.
"""

from __future__ import annotations

import dataclasses
import functools
import marshal
import operator
import sys
import types
import typing
from enum import Enum
from typing import Any, Callable

from .chance import Random, hash_of
from .types import Problem

if sys.version_info >= (3, 11):
    from typing import dataclass_transform as dataclass_transform
else:

    def dataclass_transform() -> Callable[[Any], Any]:
        """What tells type checkers that subclasses are dataclasses."""
        return lambda cls: cls


# The last of marshal's formats in which equal values have equal bytes.
_FORMAT = 2
_PREFIX_BYTES = 4
_PLAIN = {int, float, bool, str, bytes, type(None), Any, object}
_UNREADABLE = (ValueError, TypeError, EOFError, AttributeError, IndexError, KeyError)

Change = Callable[[Any], Any]
Pair = tuple[Change, Change]


class Codec:
    """How instances of one dataclass become bytes and come back."""

    def __init__(self, cls: type) -> None:
        hints = typing.get_type_hints(cls)
        self.cls = cls
        self.names = tuple(field.name for field in dataclasses.fields(cls))
        self.declared = frozenset(self.names)
        # Of one name it would pick the value itself, and no tuple of it.
        self.pick = operator.itemgetter(*self.names) if len(self.names) > 1 else self._pick
        self.computed = _computed(cls)
        described = "\n".join(f"{name} {hints.get(name)}" for name in self.names)
        self.prefix = hash_of(described.encode()).to_bytes(8, "little")[:_PREFIX_BYTES]
        pairs = ((name, _pair(hints.get(name, Any))) for name in self.names)
        self.special = [(name, *pair) for name, pair in pairs if pair]

    def encode(self, value: object) -> bytes:
        """The fields as bytes."""
        fields = value.__dict__
        if len(fields) != len(self.names):
            self._check(fields)
        if self.special:
            fields = dict(fields)
            for name, encode, _ in self.special:
                if name in fields:
                    fields[name] = encode(fields[name])
        try:
            return self.prefix + marshal.dumps(self.pick(fields), _FORMAT)
        except KeyError:
            self._check(fields)
            raise
        except ValueError:
            raise Problem.internal(self._reason(fields)) from None

    def _pick(self, fields: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(fields[name] for name in self.names)

    def decode(self, state: bytes) -> Any:
        """The instance that has these fields."""
        try:
            if state[:_PREFIX_BYTES] != self.prefix:
                raise ValueError("its fields are others")
            fields = dict(zip(self.names, marshal.loads(state[_PREFIX_BYTES:]), strict=True))
            for name, _, decode in self.special:
                fields[name] = decode(fields[name])
        except _UNREADABLE as error:
            raise Problem.state(f"not a saved state of this version: {error}") from None
        value = object.__new__(self.cls)
        value.__dict__.update(fields)
        return value

    def _check(self, fields: dict[str, Any]) -> None:
        """Nothing is lost but what can be computed again."""
        lost = sorted(fields.keys() - self.declared - self.computed)
        if lost:
            raise Problem.internal(
                f"`self.{lost[0]}` is no field of `{self.cls.__name__}`, so it would be lost when "
                "the episode is saved: declare it with its type in the class"
            )
        missing = [name for name in self.names if name not in fields]
        if missing:
            raise Problem.internal(f"the field `{missing[0]}` has no value")

    def _reason(self, fields: dict[str, Any]) -> str:
        for name in self.names:
            try:
                marshal.dumps(fields[name], _FORMAT)
            except ValueError:
                kind = type(fields[name]).__name__
                return (
                    f"the field `{name}` holds what cannot be saved ({kind}): say in its type what "
                    "is in it, or define `save` and `resume`"
                )
        return "the fields refer to each other"


@functools.cache
def codec(cls: type) -> Codec:
    """The codec of a dataclass."""
    return Codec(cls)


def _computed(cls: type) -> frozenset[str]:
    """The names of what is computed when it is asked for, and can be again."""
    kept = ((name, each) for base in cls.__mro__ for name, each in vars(base).items())
    return frozenset(name for name, each in kept if isinstance(each, functools.cached_property))


def _pair(hint: Any) -> Pair | None:
    """How values of this type become such as marshal knows, and come back;
    nothing if they are such."""
    if hint in _PLAIN:
        return None
    if isinstance(hint, type) and issubclass(hint, Random):
        return (lambda random: random.state, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return (lambda member: member.value, hint)
    if dataclasses.is_dataclass(hint):
        return _pair_of_dataclass(hint)
    inside = typing.get_args(hint)
    match typing.get_origin(hint):
        case typing.Union | types.UnionType:
            return _pair_of_union(inside)
        case builtins if builtins in (list, set, frozenset) and inside:
            return _each(builtins, _pair(inside[0]))
        case builtins if builtins is tuple and inside:
            return _pair_of_tuple(inside)
        case builtins if builtins is dict and inside:
            return _pair_of_dict(inside)
    return None


def _each(builtin: type, pair: Pair | None) -> Pair | None:
    if pair is None:
        return None
    encode, decode = pair
    in_order = sorted if builtin in (set, frozenset) else list
    return (lambda all: in_order(map(encode, all)), lambda all: builtin(map(decode, all)))


def _pair_of_tuple(inside: tuple[Any, ...]) -> Pair | None:
    if len(inside) == 2 and inside[1] is Ellipsis:
        return _each(tuple, _pair(inside[0]))
    pairs = [_pair(hint) or (_same, _same) for hint in inside]
    if all(encode is _same for encode, _ in pairs):
        return None
    return (
        lambda all: [encode(one) for (encode, _), one in zip(pairs, all, strict=True)],
        lambda all: tuple(decode(one) for (_, decode), one in zip(pairs, all, strict=True)),
    )


def _pair_of_dict(inside: tuple[Any, ...]) -> Pair | None:
    keys, values = (_pair(hint) or (_same, _same) for hint in inside)
    if keys[0] is _same and values[0] is _same:
        return None
    return (
        lambda all: [(keys[0](key), values[0](value)) for key, value in all.items()],
        lambda all: {keys[1](key): values[1](value) for key, value in all},
    )


def _pair_of_union(inside: tuple[Any, ...]) -> Pair | None:
    """Of several types only one may be other than plain, besides `None`."""
    special = [pair for pair in map(_pair, inside) if pair]
    if not special:
        return None
    if len(special) > 1 or len(inside) != 2 or type(None) not in inside:
        raise Problem.internal(f"`{inside}` cannot be saved: define `save` and `resume`")
    encode, decode = special[0]
    return (
        lambda one: None if one is None else encode(one),
        lambda one: None if one is None else decode(one),
    )


def _pair_of_dataclass(cls: type) -> Pair:
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    pairs = [_pair(hints[name]) or (_same, _same) for name in names]

    def encode(value: Any) -> list[Any]:
        parts = zip(names, pairs, strict=True)
        return [encode(getattr(value, name)) for name, (encode, _) in parts]

    def decode(parts: list[Any]) -> Any:
        value = object.__new__(cls)
        for name, (_, decode), part in zip(names, pairs, parts, strict=True):
            object.__setattr__(value, name, decode(part))
        return value

    return encode, decode


def _same(value: Any) -> Any:
    return value

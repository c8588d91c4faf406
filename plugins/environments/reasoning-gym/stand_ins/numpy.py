"""The few operations on arrays that the package uses; numpy has a compiled part,
which no component can hold. Arrays are views of a flat list."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
import random as _standard
from typing import Any, Callable, Iterable, Iterator

inf = math.inf
pi = math.pi
int32 = int64 = int_ = int
float32 = float64 = float
object_ = object


class str_(str):
    """No string of this kind is ever made."""


class ndarray:
    """Numbers, or anything else, in rows, columns and so on."""

    __hash__ = None

    def __init__(self, data: list, shape: Iterable[int], steps=None, start: int = 0) -> None:
        self.data = data
        self.shape = tuple(shape)
        self.steps = tuple(steps) if steps is not None else _steps(self.shape)
        self.start = start

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    dtype = property(lambda self: object)
    T = property(
        lambda self: ndarray(self.data, self.shape[::-1], self.steps[::-1], self.start)
    )

    def _places(self) -> Iterable[int]:
        if self.steps == _steps(self.shape):
            return range(self.start, self.start + self.size)
        return self._scattered()

    def _scattered(self) -> Iterator[int]:
        for index in itertools.product(*map(range, self.shape)):
            yield self.start + builtins.sum(map(operator.mul, index, self.steps))

    def _part(self, key: Any) -> ndarray:
        """What a key selects, as a view; of a single cell one without dimensions."""
        keys = list(key) if isinstance(key, tuple) else [key]
        for at, each in enumerate(keys):
            if each is Ellipsis:
                keys[at : at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
                break
        start, shape, steps = self.start, [], []
        for each, length, step in zip(keys, self.shape, self.steps):
            if isinstance(each, slice):
                first, end, stride = each.indices(length)
                start += first * step
                shape.append(len(range(first, end, stride)))
                steps.append(stride * step)
            else:
                place = operator.index(each)
                if not -length <= place < length:
                    raise IndexError(f"index {place} is out of bounds for size {length}")
                start += place % length * step
        rest = len(keys)
        return ndarray(
            self.data, [*shape, *self.shape[rest:]], [*steps, *self.steps[rest:]], start
        )

    def _cell(self, key: Any) -> int | None:
        """Where the only cell of this key is; nothing if it selects more. It is what
        puzzles ask most, so it is asked first."""
        if type(key) is not tuple or len(key) != len(self.shape):
            return None
        place = self.start
        for each, length, step in zip(key, self.shape, self.steps):
            if type(each) is not int:
                return None
            if not -length <= each < length:
                raise IndexError(f"index {each} is out of bounds for size {length}")
            place += each % length * step
        return place

    def __getitem__(self, key: Any) -> Any:
        place = self._cell(key)
        if place is not None:
            return self.data[place]
        if isinstance(key, (list, ndarray)):
            chosen = list(key)
            if chosen and isinstance(chosen[0], bool):
                chosen = [at for at, wanted in enumerate(chosen) if wanted]
            return array([self[at] for at in chosen])
        part = self._part(key)
        return part if part.shape else self.data[part.start]

    def __setitem__(self, key: Any, value: Any) -> None:
        place = self._cell(key)
        if place is not None and not isinstance(value, (ndarray, list, tuple)):
            self.data[place] = value
            return
        part = self._part(key)
        given = array(value) if isinstance(value, (ndarray, list, tuple)) else None
        values = _spread(given, part.shape)._list() if given is not None else [value] * part.size
        for place, each in zip(list(part._places()), values):
            self.data[place] = each

    def _list(self) -> list:
        return [self.data[place] for place in self._places()]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(self.shape[0]))

    def flatten(self) -> ndarray:
        return ndarray(self._list(), (self.size,))

    ravel = flatten
    flat = property(lambda self: iter(self._list()))

    def copy(self) -> ndarray:
        return ndarray(self._list(), self.shape)

    def tolist(self) -> Any:
        if not self.shape:
            return self.data[self.start]
        return [row.tolist() if isinstance(row, ndarray) else row for row in self]

    def reshape(self, *shape: Any) -> ndarray:
        wanted = list(shape[0] if isinstance(shape[0], (tuple, list)) else shape)
        if -1 in wanted:
            wanted[wanted.index(-1)] = self.size // -math.prod(wanted)
        return ndarray(self._list(), wanted)

    def astype(self, kind: Callable[[Any], Any]) -> ndarray:
        return ndarray([kind(each) for each in self._list()], self.shape)

    def sum(self, axis: int | None = None) -> Any:
        if axis is None:
            return builtins.sum(self._list())
        lines = self if axis else self.T
        return array([builtins.sum(line) for line in lines])

    def all(self) -> bool:
        return builtins.all(self._list())

    def any(self) -> bool:
        return builtins.any(self._list())

    def max(self) -> Any:
        return builtins.max(self._list())

    def min(self) -> Any:
        return builtins.min(self._list())

    def mean(self) -> float:
        return self.sum() / self.size

    def tobytes(self) -> bytes:
        """Of characters, which are all that is asked for."""
        return "".join(self._list()).encode()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth of several values is ambiguous")
        return bool(self._list()[0])

    def __neg__(self) -> ndarray:
        return self.astype(operator.neg)

    def __invert__(self) -> ndarray:
        return self.astype(operator.not_)

    def __repr__(self) -> str:
        return f"array({self.tolist()!r})"

    def __str__(self) -> str:
        return _drawn(self.tolist(), 1)


def _steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[at + 1 :]) for at in range(len(shape)))


def _drawn(value: Any, depth: int) -> str:
    if not isinstance(value, list):
        return str(value)
    nested = bool(value) and isinstance(value[0], list)
    between = "\n" + " " * depth if nested else " "
    return "[" + between.join(_drawn(each, depth + 1) for each in value) + "]"


def _each(one: Any, other: Any, call: Callable[[Any, Any], Any]) -> ndarray:
    """A call with every pair of elements."""
    if isinstance(other, (list, tuple)):
        other = array(other)
    if not isinstance(other, ndarray):
        return one.astype(lambda value: call(value, other))
    shape = one.shape if one.size >= other.size else other.shape
    pairs = zip(_spread(one, shape)._list(), _spread(other, shape)._list())
    return ndarray([call(*pair) for pair in pairs], shape)


def _define(name: str, call: Callable[[Any, Any], Any]) -> None:
    def forward(self: ndarray, other: Any) -> ndarray:
        return _each(self, other, call)

    def backward(self: ndarray, other: Any) -> ndarray:
        return _each(self, other, lambda mine, theirs: call(theirs, mine))

    setattr(ndarray, f"__{name}__", forward)
    setattr(ndarray, f"__r{name}__", backward)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _define(_name, getattr(operator, _name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "and_", "or_"):
    _define(_name.rstrip("_"), getattr(operator, _name))


def _spread(given: ndarray, shape: tuple[int, ...]) -> ndarray:
    """The array as one of a larger shape, by repeating it."""
    missing = len(shape) - given.ndim
    steps = [0] * missing
    for have, want, step in zip(given.shape, shape[missing:], given.steps):
        steps.append(0 if have == 1 and want != 1 else step)
    return ndarray(given.data, shape, steps, given.start)


def _shape(value: Any) -> tuple[int, ...]:
    if isinstance(value, ndarray):
        return value.shape
    if not isinstance(value, (list, tuple)):
        return ()
    inside = {_shape(each) for each in value}
    return (len(value), *inside.pop()) if len(inside) == 1 else (len(value),)


def _collect(value: Any, depth: int, out: list) -> list:
    if depth == 0:
        out.append(value)
    else:
        for each in value:
            _collect(each, depth - 1, out)
    return out


def array(value: Any, dtype: Any = None, copy: bool = True) -> ndarray:
    if not isinstance(value, ndarray):
        if not isinstance(value, (list, tuple)):
            value = list(value)
        shape = _shape(value)
        value = ndarray(_collect(value, len(shape), []), shape)
    return value.astype(dtype) if dtype in (int, float, str) else value.copy()


asarray = array


def full(shape: Any, value: Any, dtype: Any = None) -> ndarray:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return ndarray([value] * math.prod(shape), shape)


def zeros(shape: Any, dtype: Any = None) -> ndarray:
    return full(shape, 0.0 if dtype in (None, float) else 0)


def zeros_like(given: ndarray) -> ndarray:
    return zeros(given.shape)


def ones(shape: Any, dtype: Any = None) -> ndarray:
    return full(shape, 1.0 if dtype in (None, float) else 1)


def empty(shape: Any, dtype: Any = None) -> ndarray:
    return full(shape, "" if isinstance(dtype, str) else None)


def where(found: ndarray) -> tuple[ndarray, ...]:
    indices = itertools.product(*map(range, found.shape))
    hits = [index for index in indices if found[index]]
    return tuple(array([hit[axis] for hit in hits]) for axis in range(found.ndim))


def rot90(given: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ndarray:
    turned = array(given)
    one, other = axes
    for _ in range(k % 4):
        order = list(range(turned.ndim))
        order[one], order[other] = other, one
        shape = [turned.shape[axis] for axis in order]
        swapped = ndarray(turned.data, shape, [turned.steps[axis] for axis in order])
        flip = [slice(None)] * turned.ndim
        flip[one] = slice(None, None, -1)
        turned = swapped[tuple(flip)].copy()
    return turned


def transpose(given: Any) -> ndarray:
    return array(given).T


def _apply(call: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (ndarray, list, tuple)):
        return array(value).astype(call)
    return call(value)


def round(value: Any, decimals: int = 0) -> Any:
    def one(number: Any) -> Any:
        rounded = builtins.round(number, decimals)
        return float(rounded) if isinstance(number, float) else rounded

    return _apply(one, value)


def abs(value: Any) -> Any:
    return _apply(builtins.abs, value)


def exp(value: Any) -> Any:
    return _apply(math.exp, value)


def sum(value: Any, axis: int | None = None) -> Any:
    return array(value).sum(axis)


def max(value: Any) -> Any:
    return array(value).max()


def min(value: Any) -> Any:
    return array(value).min()


def mean(value: Any) -> float:
    return array(value).mean()


def all(value: Any) -> bool:
    return value if isinstance(value, bool) else array(value).all()


def any(value: Any) -> bool:
    return value if isinstance(value, bool) else array(value).any()


def isclose(one: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    return builtins.abs(one - other) <= atol + rtol * builtins.abs(other)


def allclose(one: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    pairs = zip(array(one)._list(), array(other)._list())
    return builtins.all(isclose(*pair, rtol, atol) for pair in pairs)


def array_equal(one: Any, other: Any) -> bool:
    one, other = array(one), array(other)
    return one.shape == other.shape and one._list() == other._list()


def loadtxt(lines: Iterable[str], dtype: Any = float) -> ndarray:
    return array([[float(word) for word in line.split()] for line in lines if line.split()])


class Generator:
    """Not numpy's numbers, but as good."""

    def __init__(self, seed: Any = None) -> None:
        self._random = _standard.Random(seed)

    def integers(self, low: int, high: int | None = None) -> int:
        return self._random.randrange(*((low, high) if high is not None else (low,)))

    def random(self) -> float:
        return self._random.random()

    def choice(self, items: Any, size: int | None = None, replace: bool = True) -> Any:
        items = list(range(items)) if isinstance(items, int) else list(items)
        if size is None:
            return self._random.choice(items)
        if replace:
            return [self._random.choice(items) for _ in range(size)]
        return self._random.sample(items, size)

    def shuffle(self, items: list) -> None:
        self._random.shuffle(items)


class random:
    """The module of the same name."""

    Generator = Generator
    _random = _standard.Random(0)

    @staticmethod
    def default_rng(seed: Any = None) -> Generator:
        return Generator(seed)

    @classmethod
    def seed(cls, seed: Any) -> None:
        cls._random = _standard.Random(seed)

    @classmethod
    def randint(cls, low: int, high: int | None = None, size: Any = None) -> Any:
        low, high = (0, low) if high is None else (low, high)
        if size is None:
            return cls._random.randrange(low, high)
        shape = (size,) if isinstance(size, int) else tuple(size)
        return ndarray([cls._random.randrange(low, high) for _ in range(math.prod(shape))], shape)

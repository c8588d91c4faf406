"""A machine of 64 bits, as far as a program can tell: CPython for WebAssembly has 32.

What C alone decides stays as it is: hashes, and the lengths that C functions take.
"""

import array as _array_module
import bisect
import builtins
import itertools
import math
import random
import re
import struct
import sys

from runtime import callees

__builtins__ = dict(vars(builtins))

_LARGEST = 2**63 - 1
_array = _array_module.array
_Struct = struct.Struct
_MOST_OF_C = 2**31 - 1
_islice, _repeat = itertools.islice, itertools.repeat
_len = len
_seed = random.Random.seed
_HASH_MODULUS = 2**61 - 1
_bisect_left, _bisect_right = bisect.bisect_left, bisect.bisect_right

# Both ask for the length of a range that may be longer than C counts: `len` of a range or of a name
# that one was given, `bisect` with a key or of a class that behaves like a list.
_RANGES = re.compile(rb"(\w+)\s*(?::[^=\n]*)?=\s*range\s*\(")
_LENGTHS = re.compile(rb"\blen\s*\(\s*(\w+)")
# "All of it" and "for ever", where the call itself says so.
_ENDLESS = re.compile(rb"\b(islice|repeat)\s*\([^\n]*(?:\*\*|<<|\d{10}|\de\d|maxsize)")


def install():
    """To be called when the library has been imported, as some of it asks for `sys.maxsize`."""
    sys.maxsize = _LARGEST
    _array_module.array = _array_module.ArrayType = array
    for function in _PACKING:
        setattr(struct, function.__name__, function)
    struct.Struct = Struct
    random.len = length
    random.Random.seed = seed
    random.seed = random._inst.seed


def adapt(source):
    """What makes programs slower is only there for those that may need it."""
    if b"itertools" in source:
        for name in set(_ENDLESS.findall(source)):
            _replace(itertools, {b"islice": islice, b"repeat": repeat}[name])
    if b"range" not in source:
        return
    if b"len" in source:
        measured = set(_LENGTHS.findall(source))
        if b"range" in measured or not measured.isdisjoint(_RANGES.findall(source)):
            _replace(builtins, length)
    if b"bisect" in source and (b"key" in source or b"__getitem__" in source):
        _replace(bisect, bisect_left)
        _replace(bisect, bisect_right)
        bisect.bisect = callees.names["bisect"] = bisect_right


def _replace(module, function):
    """For programs that import it, and for those that find it imported."""
    name = function.__name__
    setattr(module, name, function)
    callees.names[name] = function


def length(obj, /):
    """Return the number of items in a container."""
    try:
        return _len(obj)
    except OverflowError:
        if type(obj) is not range:
            raise
    count = -((obj.start - obj.stop) // obj.step)
    if count > _LARGEST:
        raise OverflowError("Python int too large to convert to C ssize_t")
    return count


length.__name__ = length.__qualname__ = "len"


def seed(self, a=None, version=2):
    """Initialize internal state from a seed."""
    _seed(self, _float_hash(a) if type(a) is float else a, version)


def _float_hash(number):
    """The hash of a float on a machine of 64 bits, without a sign as C sees it there."""
    if not math.isfinite(number):
        value = 314159 if number > 0 else -314159 if number < 0 else hash(number)
    else:
        above, below = abs(number).as_integer_ratio()
        value = above * pow(below, -1, _HASH_MODULUS) % _HASH_MODULUS
        value = value if number >= 0 else -value
    return (-2 if value == -1 else value) % 2**64


def islice(iterable, /, *bounds):
    """Return an iterator over selected items. No run takes as many as C counts."""
    return _islice(iterable, *map(_countable, bounds))


def repeat(object, times=None):
    """Return an iterator that gives the object so many times, or for ever."""
    return _repeat(object) if times is None else _repeat(object, _countable(times))


def _countable(number):
    wide = type(number) is int and _MOST_OF_C < number <= _LARGEST
    return _MOST_OF_C if wide else number


islice.__module__ = repeat.__module__ = "itertools"


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """Return the index where to insert item x in list a, assuming a is sorted."""
    if type(a) is list:
        return _bisect_left(a, x, lo, hi, key=key)
    lo, hi = _bounds(a, lo, hi)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if (item if key is None else key(item)) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """Return the index where to insert item x in list a, assuming a is sorted."""
    if type(a) is list:
        return _bisect_right(a, x, lo, hi, key=key)
    lo, hi = _bounds(a, lo, hi)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if x < (item if key is None else key(item)):
            hi = middle
        else:
            lo = middle + 1
    return lo


def _bounds(a, lo, hi):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    return lo, length(a) if hi is None else hi


class _ArrayType(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, _array) if cls is array else type.__instancecheck__(cls, instance)


class array(_array, metaclass=_ArrayType):
    """Arrays whose `l` and `L` have eight bytes; all others are C's own."""

    def __new__(cls, typecode, initializer=(), /):
        wide = _LONGS.get(typecode) if type(typecode) is str else None
        if cls is array:
            cls = _array if wide is None else _Longs
        return _array.__new__(cls, wide or typecode, initializer)


class _Longs(array):
    @property
    def typecode(self):
        return "l" if _array.typecode.__get__(self) == "q" else "L"

    def __add__(self, other):
        return _as_longs(_array.__add__(self, other))

    def __mul__(self, count):
        return _as_longs(_array.__mul__(self, count))

    __rmul__ = __mul__

    def __copy__(self):
        return _as_longs(self)

    def __repr__(self):
        return f"array('{self.typecode}{_array.__repr__(self)[8:]}"


def _as_longs(values):
    return _array.__new__(_Longs, _array.typecode.__get__(values), values)


_LONGS = {"l": "q", "L": "Q"}
array.__module__ = _Longs.__module__ = "array"
_Longs.__name__ = _Longs.__qualname__ = "array"

_WIDER = str.maketrans("lLnNP", "qQqQQ")
_widened = {}


def _widen(format):
    """A format with the sizes of 64 bits, which in native mode are not the machine's."""
    wide = _widened.get(format)
    if wide is None:
        text = format.decode("latin-1") if isinstance(format, bytes) else format
        if not isinstance(text, str):
            return format
        wide = text if text[:1] in ("=", "<", ">", "!") else text.translate(_WIDER)
        _widened[format] = wide
    return wide


class Struct(_Struct):
    """A format and its functions, as `struct.Struct`."""

    def __new__(cls, format):
        return _Struct.__new__(cls, _widen(format))

    def __init__(self, format):
        _Struct.__init__(self, _widen(format))


Struct.__module__ = "_struct"


def _packing(name):
    real = getattr(struct, name)

    def function(format, /, *args, **kwds):
        return real(_widen(format), *args, **kwds)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = real.__doc__
    function.__module__ = "_struct"
    return function


_PACKING = tuple(
    map(_packing, ("calcsize", "iter_unpack", "pack", "pack_into", "unpack", "unpack_from"))
)

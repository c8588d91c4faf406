# The little of numpy that published test code uses, for the examiner alone: a program that
# imports numpy has none. Arrays are lists here, and what is missing says so.
from types import ModuleType


def numpy_modules():
    numpy, testing = Numpy("numpy"), Numpy("numpy.testing")
    numpy.testing = testing
    for name in ("allclose", "isclose", "array_equal", "isnan", "isinf"):
        setattr(numpy, name, globals()[name])
    for name in ("ndarray", "float64", "float32", "int64", "int32", "bool_"):
        setattr(numpy, name, type(name, (NoArray,), {}))
    numpy.inf, numpy.nan, numpy.pi = float("inf"), float("nan"), 3.141592653589793
    numpy.abs, numpy.all, numpy.any = absolute, all_of, any_of
    testing.assert_allclose = assert_allclose
    return {"numpy": numpy, "numpy.testing": testing}


class Numpy(ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Hopeless(f"the test code uses {self.__name__}.{name}, which is not there")


class NoArray:
    """A type of numpy's. No value of a program is of one."""

    def __init__(self, *_):
        raise Hopeless(f"the test code makes a numpy.{type(self).__name__}, which is not there")


class Truths(list):
    """What a comparison of two arrays comes to."""

    def all(self):
        return all_of(self)

    def any(self):
        return any_of(self)


def is_guess(value):
    if isinstance(value, (list, tuple)):
        return any(is_guess(item) for item in value)
    return isinstance(value, Guess)


def rows(value):
    """A list of what an array would hold, or nothing of a number."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"{type(value).__name__} is no number and no array of numbers")
    return None


def shape(value):
    """The lengths of an array; its rows must be alike."""
    inner = rows(value)
    if inner is None:
        return ()
    shapes = [shape(item) for item in inner]
    if any(other != shapes[0] for other in shapes):
        raise ValueError("the rows of an array are of different shapes")
    return (len(inner), *(shapes[0] if shapes else ()))


def paired(left, right, compare):
    """`compare` of each number with its counterpart; what is short of a dimension is repeated. One
    that is empty is like another that is, and nothing else: to numpy it is near every number."""
    depths = len(shape(left)), len(shape(right))
    return _paired(left, right, depths, compare)


def _paired(left, right, depths, compare):
    if depths == (0, 0):
        return compare(left, right)
    ours = rows(left) if depths[0] >= depths[1] else [left]
    theirs = rows(right) if depths[1] >= depths[0] else [right]
    if len(ours) != len(theirs) and min(len(ours), len(theirs)) != 1:
        raise ValueError("two arrays of different shapes are compared")
    length = max(len(ours), len(theirs))
    inner = tuple(depth - (depth == max(depths)) for depth in depths)
    ours, theirs = (side * length if len(side) == 1 else side for side in (ours, theirs))
    return Truths(_paired(a, b, inner, compare) for a, b in zip(ours, theirs))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    if is_guess(a) or is_guess(b):
        return True

    def close(x, y):
        if x != x or y != y:
            return equal_nan and x != x and y != y
        if abs(x) == float("inf") or abs(y) == float("inf"):
            return x == y
        return abs(x - y) <= atol + rtol * abs(y)

    return paired(a, b, close)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return all_of(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a, b):
    if is_guess(a) or is_guess(b):
        return True
    try:
        return shape(a) == shape(b) and all_of(paired(a, b, lambda x, y: x == y))
    except (TypeError, ValueError):
        return False


def assert_allclose(actual, desired, rtol=1e-07, atol=0, equal_nan=True):
    assert allclose(actual, desired, rtol, atol, equal_nan) or state["wanted"]


def each(value, function):
    inner = None if is_guess(value) else rows(value)
    return function(value) if inner is None else Truths(each(item, function) for item in inner)


def isnan(value):
    return each(value, lambda number: number != number)


def isinf(value):
    return each(value, lambda number: abs(number) == float("inf"))


def absolute(value):
    return each(value, abs)


def all_of(value):
    return all(map(all_of, value)) if isinstance(value, (list, tuple)) else bool(value)


def any_of(value):
    return any(map(any_of, value)) if isinstance(value, (list, tuple)) else bool(value)

"""`functools.lru_cache` without frames of C, so that memoised recursion can be as deep as any.

The C stack is small here; Python's own frames are on the heap. A wrapper in Python costs a frame
of the recursion limit that the one in C does not, so the limit grows with the live wrappers.
"""

import functools
from functools import _CacheInfo, update_wrapper

from runtime import recursion

_CHUNK = 64
_MARK = (object(),)
_NONE = object()

_live = 0
_allowed = 0


def install():
    functools.lru_cache = lru_cache
    functools.cache = cache


def lru_cache(maxsize=128, typed=False):
    """Least-recently-used cache decorator, as in the standard library."""
    if isinstance(maxsize, int):
        maxsize = max(maxsize, 0)
    elif callable(maxsize) and isinstance(typed, bool):
        return _decorated(maxsize, 128, typed)
    elif maxsize is not None:
        raise TypeError("Expected first argument to be an integer, a callable, or None")
    return lambda function: _decorated(function, maxsize, typed)


def cache(user_function, /):
    """Simple lightweight unbounded cache, as in the standard library."""
    return lru_cache(maxsize=None)(user_function)


def _decorated(function, maxsize, typed):
    if not callable(function):
        raise TypeError("the first argument must be callable")
    if maxsize is None and not typed:
        wrapper = _unbounded(function)
    elif maxsize == 0:
        wrapper = _none_kept(function)
    else:
        wrapper = _bounded(function, maxsize, typed)
    wrapper.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}
    return update_wrapper(wrapper, function)


def _more():
    """Lets the recursion limit follow the live wrappers."""
    global _allowed
    _allowed = _live + _CHUNK
    recursion.grant(_allowed)


def _unbounded(function):
    kept = {}
    find = kept.get
    hits = misses = 0

    def wrapper(*args, **kwds):
        nonlocal hits, misses
        global _live
        if kwds:
            key = _key(args, kwds, False)
        elif len(args) == 1 and ((kind := type(args[0])) is int or kind is str):
            key = args[0]
        else:
            key = args
        result = find(key, _NONE)
        if result is not _NONE:
            hits += 1
            return result
        misses += 1
        _live += 1
        if _live > _allowed:
            _more()
        try:
            result = kept[key] = function(*args, **kwds)
        finally:
            _live -= 1
        return result

    def cache_info():
        return _CacheInfo(hits, misses, None, len(kept))

    def cache_clear():
        nonlocal hits, misses
        kept.clear()
        hits = misses = 0

    wrapper.cache_info, wrapper.cache_clear = cache_info, cache_clear
    return wrapper


def _bounded(function, maxsize, typed):
    # A dict keeps the order of insertion: its first key is the one used longest ago.
    kept = {}
    take = kept.pop
    hits = misses = 0

    def wrapper(*args, **kwds):
        nonlocal hits, misses
        global _live
        if not kwds and not typed:
            if len(args) == 1 and ((kind := type(args[0])) is int or kind is str):
                key = args[0]
            else:
                key = args
        else:
            key = _key(args, kwds, typed)
        result = take(key, _NONE)
        if result is not _NONE:
            hits += 1
            kept[key] = result
            return result
        misses += 1
        _live += 1
        if _live > _allowed:
            _more()
        try:
            result = function(*args, **kwds)
        finally:
            _live -= 1
        if key not in kept:
            if maxsize is not None and len(kept) >= maxsize:
                del kept[next(iter(kept))]
            kept[key] = result
        return result

    def cache_info():
        return _CacheInfo(hits, misses, maxsize, len(kept))

    def cache_clear():
        nonlocal hits, misses
        kept.clear()
        hits = misses = 0

    wrapper.cache_info, wrapper.cache_clear = cache_info, cache_clear
    return wrapper


def _none_kept(function):
    misses = 0

    def wrapper(*args, **kwds):
        nonlocal misses
        misses += 1
        return function(*args, **kwds)

    def cache_clear():
        nonlocal misses
        misses = 0

    wrapper.cache_info = lambda: _CacheInfo(0, misses, 0, 0)
    wrapper.cache_clear = cache_clear
    return wrapper


def _key(args, kwds, typed):
    key = args
    if kwds:
        key += _MARK
        for item in kwds.items():
            key += item
    if typed:
        key += tuple(map(type, args))
        if kwds:
            key += tuple(map(type, kwds.values()))
    elif len(key) == 1 and type(key[0]) in (int, str):
        return key[0]
    return key

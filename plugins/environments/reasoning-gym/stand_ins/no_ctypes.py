"""Calls into compiled libraries, of which there are none; only names are looked up."""


class _Type:
    pass


class Structure(_Type):
    pass


class Union(_Type):
    pass


class Array(_Type):
    pass


c_int = c_int64 = c_long = c_float = c_double = c_void_p = c_ubyte = _Type


def sizeof(_: object) -> int:
    return 4

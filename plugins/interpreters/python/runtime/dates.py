"""Times as text, by the rules of the C library of Linux. The one here knows fewer directives, and
gives no text at all where it meets another. `datetime` asks the module `time`, too."""

import re
import time

_strftime = time.strftime

# What both libraries know, without flags.
_ODD = re.compile(r"%(?![aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%])")
_DIRECTIVE = re.compile(r"%([_\-0^#]*)(\d*)([EO]?)(.?)", re.DOTALL)
_MODIFIED = {"E": "%CPRTXYZcnprstuxy", "O": "%BCGHIMPRSTUVWZbdeghjklmnprstuwy"}
# How many digits each number has at least.
_DIGITS = {**dict.fromkeys("CdegHIklmMSUVWy", 2), **dict.fromkeys("GuwY", 1), "j": 3}
_SPACED = frozenset("ekl")
_SAME_NUMBER = {"e": "d", "k": "H", "l": "I"}
_TEXTS = frozenset("aAbBcDFhnpPrRstTxXzZ%")


def install():
    time.strftime = strftime


def strftime(format, *moment):
    """Convert a time tuple to a string according to a format specification."""
    if type(format) is not str or len(moment) > 1 or not _ODD.search(format):
        return _strftime(format, *moment)
    tuple_ = moment[0] if moment else time.localtime()
    _strftime("", tuple_)
    return _DIRECTIVE.sub(lambda match: _directive(match, tuple_), format)


strftime.__module__ = "time"


def _directive(match, moment):
    flags, width, modifier, letter = match.groups()
    paddings = [flag for flag in flags if flag in "_-0"]
    padding = paddings[-1] if paddings else ""
    # The C library counts in an `int`; nobody wants a line of that length.
    width = min(int(width or 0), 10_000)
    is_known = not modifier or letter in _MODIFIED[modifier]
    if is_known and letter in _DIGITS:
        return _number(letter, padding, width, moment)
    text = match[0].upper() if "^" in flags else match[0]
    if is_known and letter in _TEXTS:
        text = _text(letter, flags, moment)
    return text.rjust(width, "0" if padding == "0" else " ")


def _number(letter, padding, width, moment):
    number = str(int(_strftime("%" + _SAME_NUMBER.get(letter, letter), moment)))
    if padding == "-":
        return number.rjust(width)
    digits = max(_DIGITS[letter], width)
    if padding == "_" or (letter in _SPACED and padding == ""):
        return number.rjust(digits)
    return number.zfill(digits)


def _text(letter, flags, moment):
    if letter == "s":
        return str(int(time.mktime(moment)))
    text = _strftime("%p" if letter == "P" else "%" + letter, moment)
    if letter == "P" or ("#" in flags and letter in "pZ"):
        return text.lower()
    if "^" in flags or ("#" in flags and letter in "aAbBh"):
        return text.upper()
    return text

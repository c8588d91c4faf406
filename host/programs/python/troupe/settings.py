"""Settings as flags of the program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping


def flags(settings: Mapping[str, object]) -> list[str]:
    """`--set` for each: of `{"train": {"steps": 10}}` as of `{"train.steps": 10}`."""
    return [word for key, value in _flat(settings) for word in ("--set", f"{key}={_toml(value)}")]


def _flat(settings: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    # As plain numbers: NumPy's write their type beside their value.
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        # A string of JSON is one of TOML.
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    raise TypeError(
        f"a setting is a number, a text, a truth value or a list of them, not {value!r}"
    )

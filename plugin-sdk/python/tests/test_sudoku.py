"""Sudoku in Python has the tasks of sudoku in Rust, whose digests its own tests keep."""

import re
import sys
import unittest
from pathlib import Path

from troupe_plugin.testing import check_environment, play, play_expert
from troupe_plugin.types import Split, Status

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "tests" / "fixtures" / "languages" / "python" / "sudoku"
PLAYERS = (ROOT / "plugins/environments/sudoku/tests/players.rs").read_text(encoding="utf-8")
KEPT = re.findall(r"\"([0-9a-f]{16})\"", PLAYERS)


def fnv(text: str) -> str:
    value = 0xCBF2_9CE4_8422_2325
    for byte in text.encode():
        value = (value ^ byte) * 0x0100_0000_01B3 % (1 << 64)
    return f"{value:016x}"


@unittest.skipUnless(SOURCES.is_dir(), "the fixture is not part of the package")
class Sudoku(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(SOURCES))
        self.addCleanup(sys.path.remove, str(SOURCES))
        from sudoku import Sudoku

        self.sudoku = Sudoku

    def test_its_tasks_are_those_of_the_plugin_in_rust(self):
        def starts(split: Split) -> str:
            episodes = (play(self.sudoku, seed, split, observation="grid") for seed in range(8))
            return "".join(episode.observe() for episode in episodes)

        self.assertEqual([fnv(starts(split)) for split in Split], KEPT)

    def test_it_keeps_the_contract(self):
        check_environment(self.sudoku, tasks=3)
        episode = play_expert(play(self.sudoku, seed=5, size=6, observation="text"))
        self.assertEqual((episode.status, round(episode.earned, 6)), (Status.SOLVED, 1.5))

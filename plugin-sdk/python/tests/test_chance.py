"""Chance and splits are those of every other language: `chance.json` says so."""

import json
import unittest
from pathlib import Path

from troupe_plugin.types import Split, Task

VECTORS = json.loads(
    (Path(__file__).parents[2] / "tests" / "chance.json").read_text(encoding="utf-8")
)


class Chance(unittest.TestCase):
    def test_numbers_are_those_of_the_vectors(self):
        for vector in VECTORS["random"]:
            task = Task(Split[vector["split"].upper()], vector["seed"])
            with self.subTest(task=vector["purpose"]):
                self.check(vector, lambda: task.random(vector["purpose"]))

    def check(self, vector, begin):
        random = begin()
        self.assertEqual([f"{random.bits():016x}" for _ in range(4)], vector["bits"])
        random = begin()
        below = [[bound, random.below(bound)] for bound, _ in vector["below"]]
        self.assertEqual(below, vector["below"])
        shuffled = list(range(10))
        begin().shuffle(shuffled)
        self.assertEqual(shuffled, vector["shuffled"])
        random = begin()
        self.assertEqual("".join(random.choose("abcde") for _ in range(8)), vector["chosen"])

    def test_problems_belong_to_the_splits_of_the_vectors(self):
        for vector in VECTORS["owning"]:
            owner = Split.owning(bytes.fromhex(vector["problem"]))
            self.assertEqual(str(owner), vector["split"])

    def test_a_problem_is_drawn_until_its_split_owns_it(self):
        for split in Split:
            random = (task := Task(split, 7)).random("problem")
            problem = task.owned(lambda: random.below(1000), key=lambda p: str(p).encode())
            self.assertIs(Split.owning(str(problem).encode()), split)

    def test_derived_draws_stay_within_their_bounds(self):
        random = Task(Split.TRAIN, 0).random("test")
        self.assertEqual({random.integer(3, 5) for _ in range(99)}, {3, 4, 5})
        self.assertTrue(all(0 <= random.number() < 1 for _ in range(99)))
        self.assertEqual(sorted(random.sample("abc", 3)), ["a", "b", "c"])

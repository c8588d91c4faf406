"""What stands in for compiled packages, and what scorers may read; natively, and
without the package itself: `python3 -m unittest discover -s tests`."""

import contextlib
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[1]
SDK = ROOT.parents[2] / "plugin-sdk" / "python"
sys.path[:0] = [str(ROOT / "stand_ins"), str(ROOT), str(SDK)]
sys.modules["package"] = SimpleNamespace(NAMES=["dice", "gcd"])

import cellpylib
import forms
import guards
import numpy as np
import procedural
import pycosat
import zss
from troupe_plugin.types import Problem


class Mixtures(unittest.TestCase):
    def weights(self, task, mix):
        return procedural.weights({"task": task, "mix": mix, "options": "{}"})

    def test_a_mixture_has_a_weight_for_each_of_its_generators(self):
        self.assertEqual(self.weights("gcd", ""), {"gcd": 1})
        self.assertEqual(self.weights("mix", ""), {"dice": 1, "gcd": 1})
        self.assertEqual(self.weights("mix", "gcd=2 dice"), {"gcd": 2, "dice": 1})

    def test_a_mixture_that_does_not_count_and_a_name_that_comes_twice_are_refused(self):
        for task, mix, why in (
            ("gcd", "dice=2", "counts only where `task` is `mix`"),
            ("mix", "gcd=2 gcd=3", "names a generator twice"),
            ("mix", "gcd=0", "the weight of `gcd`"),
        ):  # fmt: skip
            with self.assertRaises(Problem) as refused:
                self.weights(task, mix)
            self.assertIn(why, str(refused.exception))


class Guards(unittest.TestCase):
    def test_literals_are_read_and_code_is_not_run(self):
        self.assertEqual(guards.literal(" [['a', 1]]"), [["a", 1]])
        for code in ("__import__('os')", "[].append(1)", "1 +"):
            with self.assertRaises((ValueError, SyntaxError)):
                guards.literal(code)

    def test_sums_have_no_names_and_no_powers(self):
        for text in ("(1 + 2) * 3 - 4/5", "7.5"):
            self.assertTrue(guards.is_sum(text), text)
        for text in ("9**9**9", "9* *9", "a", "__import__", "1" * 13, "", "1!", "1" * 201):
            self.assertFalse(guards.is_sum(text), text)

    def test_terms_have_known_functions_and_small_powers(self):
        for text in ("x**2 + C", "2*x^(1/2) - sin(x)/3", "exp(-x)*log(x)**3", "x**-2"):
            self.assertTrue(guards.is_term(text), text)
        for text in ("x**999", "9**9**9", "x**(y)", "eval(x)", "x.__class__", "9**(9)**9", "'x'"):
            self.assertFalse(guards.is_term(text), text)

    def test_numbers_that_fill_the_memory_are_not_read(self):
        self.assertEqual(guards.fraction("1e-3") * 1000, 1)
        for text in ("1e999999999", "1E+9_99", "1e-0100000"):
            with self.assertRaises(ValueError):
                guards.fraction(text)
        self.assertTrue(guards.is_no_number("NaN + 1j"))
        self.assertFalse(guards.is_no_number("-1.0 + 8.0i"))

    def test_what_calls_too_many_functions_is_stopped_whatever_it_catches(self):
        def calls(times):
            for _ in range(times):
                with contextlib.suppress(Exception):
                    guards.is_sum("1")

        with guards.at_most(1000):
            calls(10)
        with self.assertRaises(guards.Exhausted), guards.at_most(1000):
            calls(10**6)
        calls(2000)

    def test_what_runs_too_many_lines_is_stopped(self):
        def runs(times):
            while times:
                times -= 1

        with guards.at_most_lines(1000):
            runs(10)
        with self.assertRaises(guards.Exhausted), guards.at_most_lines(1000):
            runs(10**6)


class Forms(unittest.TestCase):
    def test_what_has_only_the_kinds_of_the_right_answer_can_be_near(self):
        for answer, right in (
            ("tca", "tac"), ("-3.5", "7"), ("3-2i", "4+2i"), ("[1,\n 2]", "[3]"),
            ("1 2\n3 4", "4 3\n2 1"), ("A→B", "B → A → A"), ("1/4", "0.3"), ("2, 3", "2.5"),
        ):  # fmt: skip
            self.assertTrue(forms.is_near(answer, right), answer)
        for answer, right in (
            ("the cat", "tac"), ("1 [2", "7"), ("n7", "9"), ("{1}", "[1]"), ("cat!", "tac"), ("4", "cat")
        ):  # fmt: skip
            self.assertFalse(forms.is_near(answer, right), answer)

    def test_what_merely_contains_the_right_answer_is_not_near(self):
        for answer in ("19", "9", " 9 8", "1 2 3 4 5 6 7 8 9"):
            self.assertFalse(forms.is_near(answer, "9"), answer)
        self.assertFalse(forms.is_near("a CAT", "Cat"))

    def test_a_sum_uses_the_numbers_that_are_given_once_each(self):
        self.assertTrue(forms.uses("(10 - 4)*8/2", [8, 10, 2, 4]))
        for text in ("4*6*1*1", "(10 - 4)*8/2*2", "104 + 8 + 2", ""):
            self.assertFalse(forms.uses(text, [8, 10, 2, 4]), text)


class StandIns(unittest.TestCase):
    def test_arrays_are_views_of_what_they_are_cut_from(self):
        cube = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
        cube[0, :, 1] = [9, 9]
        self.assertEqual(cube.tolist(), [[[1, 9], [3, 9]], [[5, 6], [7, 8]]])
        self.assertEqual(cube[..., 0].T.tolist(), [[1, 5], [3, 7]])
        self.assertEqual(np.rot90(np.array([[1, 2], [3, 4]])).tolist(), [[2, 4], [1, 3]])
        self.assertEqual(np.rot90(np.array([[1, 2], [3, 4]]), 3).tolist(), [[3, 1], [4, 2]])
        self.assertEqual((np.array([[1, 2], [3, 4]]) + np.array([10, 20])).tolist()[1], [13, 24])
        hits = np.where((np.array([["*", "+"]]) == "*") | (np.array([["*", "+"]]) == "%"))
        self.assertEqual([axis.tolist() for axis in hits], [[0], [0]])
        self.assertEqual(str(np.array([[1, 2], [3, 4]])), "[[1 2]\n [3 4]]")
        signs = np.array([list("+*"), list("@$")])
        signs[1, 0] = "-"
        self.assertEqual((signs.tobytes(), signs[0, -1]), (b"+*-$", "*"))
        with self.assertRaises(IndexError):
            signs[2, 0]
        with self.assertRaises(ValueError):
            bool(np.zeros(2) == np.zeros(2))

    def test_every_assignment_is_found_once(self):
        clauses = [[1, 2], [-1, 3], [-2, -3]]
        found = {tuple(each) for each in pycosat.itersolve(clauses)}
        self.assertEqual(found, {(1, -2, 3), (-1, 2, -3)})
        self.assertEqual(pycosat.solve([[1], [-1]]), "UNSAT")
        self.assertEqual(len(list(pycosat.itersolve([[1, 2, 3]]))), 7)

    def test_life_goes_on_around_the_edges(self):
        board = cellpylib.init_simple2d(5, 5)
        board[0] = np.array([[0] * 5, [0] * 5, [1, 1, 0, 0, 1], [0] * 5, [0] * 5])
        boards = cellpylib.evolve2d(board, 3, None).tolist()
        self.assertEqual([row[0] for row in boards[1]], [0, 1, 1, 1, 0])
        self.assertEqual(boards[2], boards[0])

    def test_trees_differ_by_what_has_to_be_changed(self):
        one = zss.Node("a", [zss.Node("b"), zss.Node("c", [zss.Node("d")])])
        other = zss.Node("a", [zss.Node("b"), zss.Node("d")])
        self.assertEqual(zss.simple_distance(one, one), 0)
        self.assertEqual(zss.simple_distance(one, other), 1)


if __name__ == "__main__":
    unittest.main()

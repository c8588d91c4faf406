"""Answers are found where models put them, as in the Rust SDK."""

import unittest

from troupe_plugin import reading
from troupe_plugin.rendering import escaped


def letters(text: str) -> str:
    words = text.split()
    for word in words:
        if len(word) != 1:
            raise ValueError(f"`{word}` is long.")
    return "".join(words)


class Reading(unittest.TestCase):
    def test_an_answer_is_found_wherever_it_usually_stands(self):
        for text in [
            "a b",
            "a\nb",
            "```\na b\n```",
            "I think:\n```text\na\nb\n```\nThat should do.",
            "I tried c.\nThen this:\na\nb",
            "c d\n\nRather:\n\na b",
            "Let us see\na b\nDone, I hope.",
            "**a b**",
            "Final answer: a b",
            "<answer>c</answer> or rather <answer> a b </answer>.",
            "So it is $\\boxed{a b}$ I say.",
        ]:
            self.assertEqual(reading.last(text, letters), "ab", text)
        self.assertEqual(reading.marked("\\boxed{\\frac{1}{2}} = 0.5"), "\\frac{1}{2}")
        self.assertIsNone(reading.marked("\\boxed{1 </answer>"))

    def test_what_cannot_be_read_is_explained_by_its_last_line(self):
        for text, reason in [("why not\nno way", "no"), ("never mind\n" * 10_000, "never")]:
            with self.assertRaisesRegex(ValueError, f"`{reason}` is long."):
                reading.last(text, letters)
        self.assertEqual(reading.last("", letters), "")
        self.assertEqual(reading.last("```", letters), "")
        self.assertEqual(reading.last("ä " * (1 << 17) + "\na b", letters), "ab")

    def test_answers_and_programs(self):
        self.assertEqual(reading.final_answer("So \\boxed{\\frac{1}{2}}, I think."), "\\frac{1}{2}")
        self.assertEqual(reading.final_answer("2 + 2\nThe answer is 4.\nAnswer: **4**"), "4")
        self.assertEqual(reading.program("```python\nprint(1)\n```"), "print(1)\n")

    def test_whatever_a_text_says_it_can_be_shown(self):
        self.assertEqual(escaped("of 1 & 2\n"), "o&#102; 1 &#38; 2 ")

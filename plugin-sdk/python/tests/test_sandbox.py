"""What a run may use is the same in every language."""

import re
import unittest
from dataclasses import astuple
from pathlib import Path

from troupe_plugin.sandbox import Limits

ROOT = Path(__file__).parents[2]
NAMES = ("fuel", "timeout_ms", "memory_mib", "output_bytes")
PLACES = {
    "src/sandbox.rs": r"\b{name}: ([^,}}]+)",
    "c/granted.c": r"limits\.{name} \? limits\.{name} : ([^,}}]+)",
    "javascript/src/host.js": r"\b{name}: ([^,}}]+)",
}


def number(text: str) -> float:
    """Of `250e9`, `360_000`, or `1 << 20`."""
    value, _, shift = text.strip().partition(" << ")
    return float(value.replace("_", "")) * 2 ** int(shift or 0)


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter[1].upper(), name)


class Defaults(unittest.TestCase):
    def test_the_limits_of_a_run_are_those_of_the_other_languages(self):
        for place, pattern in PLACES.items():
            text = (ROOT / place).read_text(encoding="utf-8")
            names = map(camel, NAMES) if place.endswith(".js") else NAMES
            found = [re.search(pattern.format(name=name), text) for name in names]
            defaults = tuple(number(match[1]) for match in found)
            self.assertEqual(astuple(Limits()), defaults, place)

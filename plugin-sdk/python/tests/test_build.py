"""What is said of an author's files before a component is made of them."""

import tempfile
import unittest
from pathlib import Path

from troupe_plugin.build import Refused, Sources, _reason, build


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_a_component_asks_for_what_its_author_imports(self):
        self.write("game.py", "from troupe_plugin import log\ndef f():\n    import json.decoder\n")
        self.write("test_game.py", "from troupe_plugin import sandbox\n")
        self.write("sdk/other.py", "from troupe_plugin import retrieval\n")
        sources = Sources.read(self.folder)
        self.assertEqual(sources.granted, ["log"])
        self.assertIn("json.decoder", sources.imports)

    def test_what_draws_is_the_environment_and_no_other_class_with_such_a_method(self):
        render = "    def render(self): ...\n"
        for text, draws in [
            (f"class Page:\n{render}class Game(Environment):\n    x: Page\n", False),
            (f"class Game(Environment):\n{render}", True),
            (f"class Game(environment.Environment):\n{render}", True),
            (f"class Game(Environment[int], object):\n{render}", True),
            (f"from troupe_plugin import Environment as E\nclass Game(E):\n{render}", True),
            (f"class Drawn:\n{render}class Game(Drawn, Environment): ...\n", True),
            (f"class Base(Environment): ...\nclass Game(Base):\n{render}", True),
            (f"class Loop(Loop):\n{render}", False),
            ("class Game(Environment): ...\ndef render(self): ...\n", False),
        ]:
            with self.subTest(text):
                self.write("game.py", text)
                self.assertIs(Sources.read(self.folder).renders, draws)
        self.write("base.py", f"class Base(Environment):\n{render}")
        self.write("game.py", "from .base import Base as Parent\nclass Game(Parent): ...\n")
        self.assertTrue(Sources.read(self.folder).renders)

    def refusal(self, name: str) -> str:
        with self.assertRaises(Refused) as refused:
            build(self.folder, name, "environment", self.folder, self.folder / "out.wasm")
        return str(refused.exception)

    def test_what_cannot_be_built_is_named(self):
        self.assertIn("there is no `game.py`", self.refusal("game"))
        self.write("game.py", "class A:\n    def f(:\n")
        self.assertIn("game.py:2: ", self.refusal("game"))
        self.write("game.py", "")
        self.write("random.py", "")
        self.assertIn("`random.py` hides Python's own module", self.refusal("game"))

    def test_of_a_traceback_only_the_authors_part_is_shown(self):
        told = _reason(
            "Traceback (most recent call last):\n  File \"<string>\", line 1\n"
            "AssertionError: Traceback (most recent call last):\n"
            "  File \"/0/troupe_component.py\", line 3\n"
            "  File \"/1/game.py\", line 6, in <module>\nNameError: x\n\n\nCaused by:\n    x\n"
        )
        self.assertTrue(told.endswith("  File \"/1/game.py\", line 6, in <module>\nNameError: x"))

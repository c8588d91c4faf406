"""The examples of the front page are the templates, and what it says of tests is so."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"```python\n(.*?)```", (ROOT / "python" / "README.md").read_text(encoding="utf-8"), re.DOTALL
)


def template(kind: str, name: str, title: str) -> str:
    folder = ROOT / "templates" / "python" / kind
    text = (folder / "{{name_}}.py").read_text(encoding="utf-8")
    filled = {"name": name, "name_": name.replace("-", "_"), "Name": title, "version": "0.1.0"}
    return re.sub(r"\{\{(\w+)\}\}", lambda match: filled[match[1]], text)


class Readme(unittest.TestCase):
    def test_the_examples_are_the_templates_and_short(self):
        environment, workflow, _ = BLOCKS
        self.assertEqual(environment, template("environment", "guess", "Guess"))
        self.assertEqual(workflow, template("workflow", "pair-up", "PairUp"))
        for example in (environment, workflow):
            lines = [line for line in example.splitlines() if line.strip()]
            self.assertLessEqual(len(lines), 60)

    def test_what_it_says_of_tests_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, block in zip(["guess", "pair_up"], BLOCKS):
                (Path(folder) / f"{name}.py").write_text(block, encoding="utf-8")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            exec(compile(BLOCKS[2], "README.md", "exec"), {})

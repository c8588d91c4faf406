"""Makes a component of an author's module: `host plugin build` runs this.

    python3 -m troupe_plugin.build DIR --module guess --export environment \\
        --wit DIR/wit --output DIR/guess.wasm
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Sequence

VERSION = "0.25.1"
_INSTALL = f"python3 -m pip install componentize-py=={VERSION}"
_WORLD = "python-plugin"
_FIRST = "troupe_component"
# What the host has for whoever imports the module of this name.
_GRANTED = ("log", "retrieval", "sandbox")
_PACKAGE = "troupe_plugin"
# The class that an environment derives from, and the method with which it draws.
_ENVIRONMENT, _DRAWS = "Environment", "render"
_SKIPPED = ("sdk", "tests", "venv")


class Refused(Exception):
    """Why there is no component, in words for the author."""


@dataclass
class Sources:
    """What an author's files say without being run."""

    imports: set[str] = field(default_factory=set)
    # What each class derives from, and the classes that have a method that draws; by name.
    bases: dict[str, set[str]] = field(default_factory=dict)
    drawing: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, folder: Path) -> Sources:
        """All files but the tests."""
        sources = cls()
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder)
            skipped = any(part in _SKIPPED or part.startswith(".") for part in inside.parts)
            if not skipped and not inside.name.startswith("test_"):
                sources._add(path, inside)
        return sources

    def _add(self, path: Path, inside: Path) -> None:
        try:
            tree = ast.parse(path.read_bytes(), str(inside))
        except SyntaxError as error:
            raise Refused(f"{inside}:{error.lineno}: {error.msg}") from None
        for node in ast.walk(tree):
            match node:
                case ast.Import(names):
                    self.imports |= {name.name for name in names}
                case ast.ImportFrom(module, names, level):
                    if module and level == 0:
                        self.imports |= {module} | {f"{module}.{name.name}" for name in names}
                    for each in names:
                        if each.asname:
                            self.bases.setdefault(each.asname, set()).add(each.name)
                case ast.ClassDef(name, bases, _, body):
                    self.bases.setdefault(name, set()).update(map(_name, bases))
                    methods = [part for part in body if isinstance(part, ast.FunctionDef)]
                    if any(method.name == _DRAWS for method in methods):
                        self.drawing.add(name)

    @property
    def renders(self) -> bool:
        """Whether an environment draws, be it by what it derives from besides."""
        above = map(self._above, self.bases)
        return any(_ENVIRONMENT in names and self.drawing & names for names in above)

    def _above(self, name: str) -> set[str]:
        """A class and all that it derives from."""
        above: set[str] = set()
        left = [name]
        while left:
            name = left.pop()
            if name not in above:
                above.add(name)
                left += self.bases.get(name, ())
        return above

    @property
    def granted(self) -> list[str]:
        """What it asks the host for."""
        return [name for name in _GRANTED if f"{_PACKAGE}.{name}" in self.imports]


def _name(base: ast.expr) -> str:
    """`Environment`, also of `environment.Environment` and `Environment[Board]`."""
    match base:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case ast.Subscript(value):
            return _name(value)
    return ""


def build(
    folder: Path, module: str, export: str, wit: Path, output: Path, more: Sequence[Path] = ()
) -> None:
    """Make the component of a module in a folder, with packages in more of them."""
    if not (folder / f"{module}.py").is_file() and not (folder / module).is_dir():
        raise Refused(f"there is no `{module}.py` in `{folder}`")
    for name in sorted(path.stem for path in folder.glob("*.py")):
        if name in sys.stdlib_module_names or name == _PACKAGE:
            raise Refused(f"`{name}.py` hides Python's own module of that name; rename it")
    sources = Sources.read(folder)
    if importlib.util.find_spec("componentize_py") is None:
        raise Refused(f"componentize-py is not installed; this does it: `{_INSTALL}`")
    exports = [export, "rendering"] if sources.renders and export == "environment" else [export]
    with tempfile.TemporaryDirectory(prefix="troupe-") as staging:
        _stage(Path(staging), wit, module, exports, sources)
        paths = [Path(staging), folder, *more, Path(__file__).parent.parent]
        _componentize(Path(staging), paths, exports, output)


def _stage(staging: Path, wit: Path, module: str, exports: list[str], sources: Sources) -> None:
    """The world of this component, and the module it begins with."""
    shutil.copytree(wit, staging / "wit")
    imports = [f"import {name};" for name in sources.granted]
    world = " ".join([*imports, *(f"export {export};" for export in exports)])
    (staging / "wit" / f"{_WORLD}.wit").write_text(f"world {_WORLD} {{ {world} }}\n")
    late = sorted(name for name in sources.imports if not name.startswith(_PACKAGE))
    (staging / f"{_FIRST}.py").write_text(
        f"from {_PACKAGE} import component\n\n"
        f"globals().update(component.serve({module!r}, {exports!r}, {late!r}))\n"
    )


def _componentize(staging: Path, paths: list[Path], exports: list[str], output: Path) -> None:
    command = [sys.executable, "-c", "import componentize_py; componentize_py.script()", "--quiet"]
    command += ["--wit-path", staging / "wit", "--world", _WORLD]
    for export in exports:
        command += ["--export-interface-name", f"troupe:plugin/{export}@0.2.0=troupe_{export}"]
    command += ["componentize", _FIRST, "--output", staging / "built.wasm"]
    for path in paths:
        command += ["--python-path", path.resolve()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(_reason(done.stderr))
    shutil.move(staging / "built.wasm", output)


def _reason(stderr: str) -> str:
    """The author's traceback, without that of the tool around it."""
    lines = stderr.split("\nCaused by:")[0].splitlines()
    begins = [at for at, line in enumerate(lines) if "Traceback (most" in line]
    mine = lines[begins[-1] + 1 :] if begins else lines
    ours = (_FIRST, "component.serve(", "troupe_plugin/component.py")
    told = [line for line in mine if line.strip(" ~^") and not any(each in line for each in ours)]
    return "it cannot be imported in a component:\n" + "\n".join(told)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python3 -m troupe_plugin.build", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--module", required=True)
    parser.add_argument("--export", required=True, choices=["environment", "workflow"])
    parser.add_argument("--wit", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--path", action="append", default=[], type=Path)
    given = parser.parse_args()
    try:
        build(given.folder, given.module, given.export, given.wit, given.output, given.path)
    except Refused as refused:
        sys.exit(f"error: {refused}")


if __name__ == "__main__":
    main()

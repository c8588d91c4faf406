"""Executes a notebook in the current folder, with what is replaced in it, and writes it with its
outputs."""

import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
kept = [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]
assert not kept, "outputs do not belong into the repository"
for cell in notebook.cells:
    for replaced in sys.argv[3:]:
        cell.source = cell.source.replace(*replaced.split("=>"))
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])

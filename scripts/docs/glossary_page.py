"""The glossary as a page of the documentation."""

from __future__ import annotations

from dispatchviz.explain.sentences.glossary import TERMS
from scripts.docs.python_pages import FOLDER

PAGE = FOLDER / "glossary.md"

HEAD = """# Glossary

In the stepper, press `V` to open these terms; those of the current step come first. Below each term is the file of
PyTorch that defines it. Written by `python -m scripts.docs` from `dispatchviz.explain.sentences.glossary.py`.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *(f"## {term.name}\n\n{term.meaning}\n\n`{term.file}`\n" for term in TERMS)])

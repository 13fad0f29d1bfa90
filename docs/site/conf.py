"""The site: ``make docs`` writes it to ``build/site``, ``build/site/index.html`` opens it without a server.

It needs no network, neither to be built nor to be read. Pages are those of the repository as they are, each in its
place, so a link that works there works here; one that leads nowhere is a warning, and ``make docs`` fails on warnings.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

project = "dispatchviz"
copyright = "the dispatchviz authors"

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "*.md", "examples/*.md"]
exclude_patterns = ["README.md", "build", "dispatchviz", "tests", "truth", ".*"]
myst_heading_anchors = 4
myst_links_external_new_tab = True

smartquotes = False  # texts stay as they are written

html_theme = "furo"
html_title = "dispatchviz"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]
html_copy_source = False
html_show_sphinx = False
highlight_language = "text"

PARTS = {
    "Start": ["tutorial", "tour"],
    "How to": [
        "how-to/index",
        "how-to/which-key-wins",
        "how-to/no-gradient",
        "how-to/saved-for-backward",
        "how-to/error-in-backward",
        "how-to/backend",
        "how-to/compare",
        "how-to/share",
        "questions",
        "how-to/lessons",
        "how-to/many-traces",
    ],
    "Reference": [
        "reference/commands",
        "reference/python",
        "reference/glossary",
        "reference/testing",
        "events",
        "trace-format",
        "sentences",
        "names",
        "messages",
        "../examples/README",
    ],
    "Explanation": [
        "explanation/dispatcher",
        "explanation/autograd",
        "why",
        "then_and_now",
        "call_chains",
        "backtraces",
        "differences",
        "explanation/real-pytorch",
        "gpu",
    ],
    "Contributing": ["../CONTRIBUTING", "architecture", "../SECURITY", "../CHANGELOG"],
}
"""What stands beside every page; Sphinx warns of a page that is missing here. A new how-to comes after the others."""

HOW_TO = PARTS["How to"]
HOW_TO += sorted({f"how-to/{page.stem}" for page in Path(__file__).parents[1].glob("how-to/*.md")} - {*HOW_TO})


def with_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """The first page, with the tables of contents that GitHub would show as they are written."""
    if page == root_doc:
        source[0] += "".join(_contents(caption, pages) for caption, pages in PARTS.items())


def _contents(caption: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def setup(app: Sphinx) -> None:
    """What Sphinx calls first."""
    app.connect("source-read", with_contents)

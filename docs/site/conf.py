"""The configuration of the site. ``make docs`` writes it to ``build/site``; ``build/site/index.html`` needs no server.

Building and reading need no network. The site has the repository's own pages, each in its place, so a link that works
there works here. A broken link is a warning, and ``make docs`` fails on warnings.
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

smartquotes = False  # quotes stay as we write them

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
        "how-to/no-gradient",
        "how-to/error-in-backward",
        "how-to/which-key-wins",
        "how-to/saved-for-backward",
        "how-to/backend",
        "how-to/compare",
        "how-to/record-a-part",
        "how-to/share",
        "questions",
        "misconceptions",
        "how-to/lessons",
        "how-to/ranks",
        "how-to/many-traces",
    ],
    "Reference": [
        "reference/commands",
        "reference/python",
        "reference/glossary",
        "reference/testing",
        "trace-format",
        "../examples/README",
    ],
    "Explanation": [
        "explanation/dispatcher",
        "explanation/autograd",
        "why",
        "then_and_now",
        "explanation/real-pytorch",
        "tested",
        "differences",
        "gpu",
        "performance",
    ],
    "Contributing": ["../CONTRIBUTING", "architecture", "../SECURITY", "../CHANGELOG"],
    "Generated lists": [
        "lists/messages",
        "lists/events",
        "lists/sentences",
        "lists/names",
        "lists/call_chains",
        "lists/backtraces",
    ],
}
"""The menu beside every page. Sphinx warns of a page that is missing here. New how-to guides come after the others."""

HOW_TO = PARTS["How to"]
HOW_TO += sorted({f"how-to/{page.stem}" for page in Path(__file__).parents[1].glob("how-to/*.md")} - {*HOW_TO})


def with_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """The first page, with the tables of contents that GitHub would show as they are written."""
    if page == root_doc:
        source[0] += "".join(_contents(caption, pages) for caption, pages in PARTS.items())


def _contents(caption: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def setup(app: Sphinx) -> None:
    """Connect the menu; Sphinx calls this first."""
    app.connect("source-read", with_contents)

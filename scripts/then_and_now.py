"""Write ``docs/then_and_now.md``, older articles and what is true today, and ``docs/why.md``, reasons for the design.

python -m scripts.then_and_now            write the pages
python -m scripts.then_and_now --check    write nothing; exit status 1 if a page is stale
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from dispatchviz.explain.sentences.then_and_now.all_entries import CHAPTERS, QUESTIONS
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Reason, Source

DOCS = Path(__file__).parents[1] / "docs"

THEN_AND_NOW = """\
# What older articles say, and what is true today

People learn the dispatcher from three texts: the first walkthrough in PyTorch's wiki (2020), its later version on code
generation and structured kernels (later), and a question in the forum, whose program is `examples/forum.py` (forum).
This page repeats their statements in our own words and adds what is true in PyTorch 2.14. Tests check each answer
against an installed PyTorch (`tests/explain/then_and_now`).

In the stepper, `Y` shows the statements about the current step first. So does
`dispatchviz open TRACE --step N --view then-and-now`. Written by `python -m scripts.then_and_now`.
"""

WHY = """\
# Why PyTorch dispatches the way it does

Reasons for the parts of a call in PyTorch 2.14. Each one names its place in PyTorch's sources and what to look at in a
trace. In the stepper, `Y` and then Tab shows the reasons behind the current step first. So does
`dispatchviz open TRACE --step N --view because`. Written by `python -m scripts.then_and_now`.
"""

CODE = re.compile(
    r"(?<![\w`])[\w.:/*]*(?:::|_|torch\.|\.(?:h|cpp|cu|py|yaml)\b)(?:[\w.:/*=]|\[\d\])*(?<![.:])"
    r"(?:\((?:[^()]|\([^()]*\))*\))?"
)
"""Names of code and of files in a text that has no marks; of a call with its arguments."""


def statements_page() -> str:
    """The text of ``docs/then_and_now.md``."""
    return "\n".join([THEN_AND_NOW, *(part for title, rows in CHAPTERS.items() for part in _table(title, rows))])


def _table(title: str, rows: tuple[PastStatement, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| then | PyTorch 2.14 | where |"
    yield "|---|---|---|"
    yield from map(_row, rows)
    yield ""


def _row(row: PastStatement) -> str:
    then = f"**{row.subject}** ({row.version}) {marked(row.statement)}"
    now = f"**{row.verdict.capitalize()}.** {marked(row.today)}"
    return f"| {_cell(then)} | {_cell(now)} | {_cell(f'{_place(row.source)}; {_shown(row.shown_by)}')} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _place(source: Source) -> str:
    return f"`{source.file}`, `{source.name}`"


def _shown(program: str) -> str:
    return f"`dispatchviz run {program}`"


def reasons_page() -> str:
    """The text of ``docs/why.md``."""
    return "\n".join([WHY, *(part for title, reasons in QUESTIONS.items() for part in _reasons(title, reasons))])


def _reasons(title: str, reasons: tuple[Reason, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    for reason in reasons:
        yield f"### {marked(reason.question)}\n"
        yield f"{_filled(marked(reason.answer))}\n"
        yield _filled(f"- Look at: {marked(reason.look)}")
        yield f"- In: {_shown(reason.shown_by)}"
        yield f"- In PyTorch: {_place(reason.source)}\n"


def _filled(text: str) -> str:
    return fill(
        text, 120, break_long_words=False, break_on_hyphens=False, subsequent_indent="  " * text.startswith("- ")
    )


def marked(text: str) -> str:
    """Return a text with its names of code marked as code."""
    return CODE.sub(lambda found: f"`{found[0]}`", text)


PAGES = {"then_and_now.md": statements_page, "why.md": reasons_page}


def main() -> int:
    """Write or check the pages, and return the exit status."""
    texts = {DOCS / name: page() for name, page in PAGES.items()}
    if "--check" in sys.argv[1:]:
        return int(any(not path.exists() or path.read_text("utf-8") != text for path, text in texts.items()))
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

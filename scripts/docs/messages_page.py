"""The page of all messages that ``dispatchviz why --error`` explains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from dispatchviz.explain.diagnosis.messages.known_message import FIELD, KnownMessage
from dispatchviz.explain.diagnosis.messages.table import MESSAGES, SUBJECTS

PAGE = Path(__file__).parents[2] / "docs" / "lists" / "messages.md"

HEAD = f"""# Messages

`dispatchviz why --error FILE` finds these {len(MESSAGES)} error messages of PyTorch in a traceback or log. Each has its
general cause, a fix, and a program that raises it. For your own program run `dispatchviz why SCRIPT`, which names the
program's variables, lines and Nodes. In a message, `...` stands for the parts that vary. Written by
`python -m scripts.docs docs/lists/messages.md`.
"""

SPECIAL = re.compile(r"([*_<>`\\\[\]])")
"""The characters that Markdown would read as markup."""


def messages_page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *(line for title, messages in SUBJECTS.items() for line in _subject(title, messages))])


def _subject(title: str, messages: tuple[KnownMessage, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    for message in messages:
        yield from _entry(message)


def _entry(message: KnownMessage) -> Iterator[str]:
    yield f"### {_plain(message.kind)}\n"
    for form in (message.says, *message.or_says):
        yield _filled(f"> {_plain(FIELD.sub('...', form).strip())}", "> ") + "\n"
    yield _filled(_plain(message.cause)) + "\n"
    yield _filled(f"- try: {_plain(message.fix)}", "  ")
    if message.command:
        yield f"- see: `{message.command}`"
    yield ""


def _plain(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text)


def _filled(text: str, indent: str = "") -> str:
    return fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

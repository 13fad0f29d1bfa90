"""The page of all messages that ``dispatchviz why --error`` explains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from dispatchviz.explain.diagnosis.messages.known_message import FIELD, KnownMessage
from dispatchviz.explain.diagnosis.messages.table import MESSAGES, SUBJECTS

PAGE = Path(__file__).parents[2] / "docs" / "messages.md"

HEAD = f"""# Messages

The {len(MESSAGES)} error messages of PyTorch that `dispatchviz why --error FILE` explains, wherever they are in a
traceback or log: the general cause, what to try, and a program that shows it. For a program of your own
`dispatchviz why SCRIPT` names its variables, lines and Nodes instead. In a message `...` stands for what differs from
case to case. Written by `python -m scripts.docs docs/messages.md`.
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

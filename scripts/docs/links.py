"""Links of a page: where each one leads, whether that is a page of the site, another file, or nowhere."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

CODE = re.compile(r"^(```+|~~~+).*?^\1`*[ \t]*$|^(?: {4}|\t).*$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
ELSEWHERE = re.compile(r"[a-z]+:")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The page with what stands outside of code changed, piece by piece."""
    pieces, at = [], 0
    for code in CODE.finditer(text):
        pieces += [change(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, change(text[at:])])


def with_links(text: str, change: Callable[[str], str]) -> str:
    """The page with the target of each of its links changed; those to other sites stay."""

    def changed(link: re.Match[str]) -> str:
        return link[0] if ELSEWHERE.match(link[0]) else change(link[0])

    return outside_code(text, lambda piece: LINK.sub(changed, piece))


def links(text: str) -> list[str]:
    """The targets of all links of a page that lead to files of the repository."""
    found: list[str] = []
    with_links(text, lambda target: found.append(target) or target)  # type: ignore[func-returns-value]
    return found


def resolved(target: str, page: str) -> tuple[str, str]:
    """The file that a link of a page leads to, both in the repository, and the anchor in it, or an empty one."""
    path, _, anchor = target.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page, anchor

"""Text of programs, traces and file names for a terminal, with control characters escaped.

One rule, by Unicode's categories: a character that is a control (Cc), a format character such as a bidirectional
override (Cf), a surrogate (Cs), a line or paragraph separator (Zl, Zp), for private use (Co) or not assigned (Cn) is
written as in a Python string: ``\\x1b``, ``\\u202e``, ``\\n``. So are the few letters and marks that are blank. All
other text stays as it is, including the joiner within an emoji.

Not here: the places where text leaves the program (``terminal_output.py``, ``views/text/styled_line.py``,
``outputs/picture/dot.py``).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK = 1000
"""The number of lines that are checked and written at once."""

BLANK = "".join(
    map(
        chr,
        (
            0x034F,  # combining grapheme joiner
            *range(0x115F, 0x1161),  # Hangul fillers
            *range(0x17B4, 0x17B6),  # Khmer vowels that are never seen
            *(0x180B, 0x180C, 0x180D, 0x180F),  # Mongolian variation selectors
            0x3164,  # Hangul fillers of other widths
            0xFFA0,
            *range(0xFE00, 0xFE0E),  # variation selectors but the two that choose between text and emoji
            *range(0xE0100, 0xE01F0),
        ),
    )
)
"""Letters and marks that Unicode declares invisible, although their categories are those of visible ones."""

_BLANK = frozenset(BLANK)

JOINER = "\u200d"
"""The joiner of emoji, which is the only format character that is sent, and only between emoji."""

EMOJI_VARIANT = "\ufe0f"


def shown(text: str) -> str:
    """Return the text on one row, with no character that controls a terminal and none that is hidden."""
    if text.isprintable() and (text.isascii() or _BLANK.isdisjoint(text)):
        return text
    return _translated(text, _IN_PYTHON)


def shown_lines(text: str) -> str:
    """Return a text of several lines with each line escaped by ``shown``."""
    return "\n".join(map(shown, text.split("\n")))


def shown_json(text: str) -> str:
    """Return JSON on one line with unsafe characters as JSON escapes, so that it reads back unchanged."""
    if text.isprintable() and (text.isascii() or _BLANK.isdisjoint(text)):
        return text
    return _translated(text, _IN_JSON)


class ShownLines:
    """Lines escaped by ``shown``, many at once, so that each of a million lines costs almost nothing."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)

    def __iter__(self) -> Iterator[str]:
        for chunk in self.chunks():
            yield from chunk

    def chunks(self) -> Iterator[list[str]]:
        """Yield some lines at a time. If the source of the lines fails, yield the lines before the error first."""
        some: list[str] = []
        try:
            for line in self._lines:
                some.append(line)
                if len(some) == CHUNK:
                    full, some = some, []
                    yield _shown(full)
        except Exception:
            yield _shown(some)
            raise
        yield _shown(some)


def _shown(lines: list[str]) -> list[str]:
    return lines if all_shown(lines) else list(map(shown, lines))


def all_shown(lines: list[str]) -> bool:
    """Return whether ``shown`` would leave all lines unchanged."""
    text = "".join(lines)
    return text.isprintable() and (text.isascii() or not any(char in text for char in BLANK))


class _Table(dict[int, str]):
    """A table for ``str.translate``, from each character met so far to its replacement."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        sent = self[code] = char if _is_sent(char) else self.escape(char)
        return sent

    def escape(self, char: str) -> str:
        """Return the escape in a Python string."""
        return char.encode("unicode_escape").decode("ascii")


class _JsonTable(_Table):
    def escape(self, char: str) -> str:
        """Return the escape in a JSON string, two surrogates above U+FFFF."""
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


_IN_PYTHON, _IN_JSON = _Table(), _JsonTable()


def _is_sent(char: str) -> bool:
    return (char.isprintable() and char not in _BLANK) or _category(char) == "Zs"


def _category(char: str) -> str:
    import unicodedata  # few texts need it

    return unicodedata.category(char)


def _translated(text: str, table: _Table) -> str:
    first, *parts = text.split(JOINER)
    sent, before = [first.translate(table)], first
    for part in parts:
        joins = _is_emoji(before[-1:]) and _is_emoji(part[:1])
        sent += (JOINER if joins else table.escape(JOINER), part.translate(table))
        before = part
    return "".join(sent)


def _is_emoji(char: str) -> bool:
    """Return whether a character is a pictograph, or may follow one before a joiner: a skin tone (Sk) or a variant."""
    return bool(char) and (char == EMOJI_VARIANT or _category(char) in ("So", "Sk"))


def quoted(word: str) -> str:
    """Quote a word for a shell. Characters that control a terminal are written as bash and zsh read them."""
    import shlex  # --help needs none

    if shown(word) == word:
        return shlex.quote(word)
    text = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in "\\'" else f"\\x{byte:02x}" for byte in os.fsencode(word)
    )
    return f"$'{''.join(text)}'"

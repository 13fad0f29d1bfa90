"""Texts that would control a terminal or hide from a reader, and a trace that has one in each of its texts."""

from __future__ import annotations

import typing
import unicodedata

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

HOSTILE = (
    "\x1b[2J", "\x1b[31mred", "\x1b[1;31;40m", "\x1b[0m", "\x1b[38;5;1m", "\x1b]0;title\x07",  # clears the screen, ...
    "\x1b]2;title\x1b\\", "\x1b]52;c;cm0gLXJm\x07",  # the second goes into the clipboard
    "\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\", "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1bP+q544e\x1b\\", "\x1b[c", "\x1b[6n", "\x1b[5n",  # the first is device control: the answer is typed in
    "\x1b[?1049h", "\x1b[?25l", "\x1b[?1000h", "\x1bc", "\x1b(0", "\x1b#8",  # the other screen, ..., reset
    "\x1b[1A\x1b[2K", "\x1b[10;10H", "\x1b", "\x9b2J", "\x9d0;title\x9c",  # the row above, ..., the same by C1
    "\x90q\x9c", "\x85next line", "\x84\x8d", "over\rwritten", "b\bac\bk", "\x07bell", "\x0e\x0f",
    "\x0bvertical\x0cform", "\x1c\x1d\x1e\x1f", "nul\x00", "\x7f\x7fdel", "\x11\x13", "tab\tbed",
    "two\nlines", "\r\n0 > line 1  forged", "\u2028line\u2029paragraph", "\u202eesrever\u202c",
    "\u2066isolated\u2069", "\u202d\u202a\u202b", "\u2067\u2068", "\u200e\u200f\u061c", "no\u200bwidth\u200c\u2060",
    "a\u200db", "\ufeffmark", "soft\u00adhyphen", "\U000e0041\U000e0042",  # the last: tags
    "\U000e0100\ufe00", "\u115f\u1160\u3164\uffa0",  # variation selectors; letters that are blank
    "\u034f\u17b4\u180b\u180e", "\ufff9\ufffa\ufffb", "\u206a\u206f", "\U0001d173\U0001d17a",
    "\ue000\U000f0000", "\ufdd0\uffff\U0010ffff", "\ud800", "\udc80\udcff", "\ud83d",  # private use, no characters, ...
    "[red]\x1b[31m[/]", "$(touch x)\x1b[A", "'\x1b'\"\\",
)  # fmt: skip
"""Text with each kind at least once: controls, escape sequences, bidirectional and other format characters, surrogates,
separators.
"""

READABLE = (
    "plain", "→ ○ §", "日本語", "e\u0301", "Ωμέγα", "שלום", "مرحبا",
    "🙂", "👩🏽\u200d🚀", "🏳\ufe0f\u200d🌈", "a\u00a0b", "\u3000", "\\x1b",
)  # fmt: skip
"""Text that must not change."""

COMMANDS = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's categories of characters that are never sent to a terminal."""

JOINER = "\u200d"


def raw(text: str) -> list[str]:
    """Return the characters in lines of text that control a terminal or are invisible."""
    found = [char for char in text if unicodedata.category(char) in COMMANDS and char not in ("\n", JOINER)]
    return found + [char for char in text if char in "\u034f\u115f\u1160\u17b4\u180b\u3164\ufe00\uffa0\U000e0100"]


def everywhere(trace: Trace, text: str) -> Trace:
    """Return the trace with that text at the end of each of its texts."""
    header = trace.header
    sources = {f"{file}{text}": f"{source}{text}\n" for file, source in header.sources.items()}
    arguments = (*header.arguments, text)
    changed = msgspec.structs.replace(
        header, program=header.program + text, cuda=header.cuda + text, arguments=arguments, sources=sources
    )
    return Trace(changed, [_with(event, text) for event in trace.events], f"{trace.notice}{text}")


def _with(event: ev.AnyEvent, text: str) -> ev.AnyEvent:
    fields = msgspec.structs.fields(type(event))
    texts = {field.name: _added(getattr(event, field.name), text) for field in fields if not _is_one_of_few(field.type)}
    return msgspec.structs.replace(event, **texts)


def _is_one_of_few(kind: object) -> bool:
    return typing.get_origin(kind) is typing.Literal


def _added(value: object, text: str) -> object:
    if isinstance(value, str):
        return value + text
    return tuple(_added(each, text) for each in value) if isinstance(value, tuple) else value

"""The rows under the header: how the reader came here, what happens at this step, and where there is room the rule.

The bar is as high as its sentence needs, up to half of the screen; the rest is on the screen that a key opens
(``screens/step_text_screen.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from dispatchviz.core.record.events import AnyEvent, ErrorRaised, ProgramRaised
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.key_set_stages import stage_sentence
from dispatchviz.explain.kinds.all_kinds import how_known, how_known_in_short, rule, why_here
from dispatchviz.explain.kinds.kind import Rule
from dispatchviz.explain.outline.overview import counts, first_node
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.predictions.spoilers import ASKED_FIRST, hides_sentence
from dispatchviz.views.text.line_fitting import cut_row, fit, paragraphs, wrap
from dispatchviz.views.text.styled_line import Line, Span, line

LONGEST = 6_000
"""Characters of a text that are wrapped here; the screen of the whole text has all of it."""

INTERRUPTED = "KeyboardInterrupt"
"""What Ctrl+C raises: no error of the program's."""


def first_notes(trace: Trace, at: int) -> list[Line]:
    """What the program did, where it is worth looking first, and the keys that matter; where a program left off before
    its end, how to go back."""
    event = trace[at]
    if isinstance(event, ProgramRaised):
        return [_left_off(event)]
    keys = (*_caps("move('unfold')", "unfold"), GAP, *_caps("move('into')", "step"), GAP, *_caps("help", "keys"))
    notes = [line((f" {counts(trace)}", "hint"), GAP, *keys)]
    if (first := first_node(trace)) is not None and first.step > at:
        key = key_of("target('Node', True)").first
        notes.append(line(f" {first.text} ", (key, "keycap"), " goes there"))
    return notes


def _left_off(event: ProgramRaised) -> Line:
    interrupted = event.exception == INTERRUPTED
    how = "was interrupted here" if interrupted else "stopped here with an error"
    text = (f" The program {how}: ", "hint" if interrupted else "error")
    more = _caps("jump('first')", "start") if interrupted else _caps("traceback", "traceback")
    return line(text, *_caps("move('into_back')", "back"), GAP, *more, GAP, *_caps("help", "keys"))


GAP: Span = ("  ", "")


def _caps(action: str, label: str) -> tuple[Span, Span]:
    """The key of an action, and what it does."""
    return (key_of(action).first, "keycap"), (f" {label}", "")


def needed_rows(cursor: Cursor, notes: Iterable[Line], width: int, notes_alone: bool = False) -> list[Line]:
    """What must be read: the notes if there are some, and unless these stand alone the sentence of the step and the
    message of an error."""
    event = cursor.trace[cursor.at]
    if notes_alone:
        return [part for note in notes for part in wrap(cut_row(replace(note, indent=1), LONGEST), width - 1)]
    shown = _stage(cursor) or why_here(cursor.trace, cursor.at)
    sentence = ASKED_FIRST.plain if hides_sentence(cursor) else shown
    texts = [line(" ", (sentence, "bold"), indent=1), *message_lines(event, sentence)]
    rows = [*(replace(note, indent=1) for note in notes), *texts]
    return [part for row in rows for part in wrap(cut_row(row, LONGEST), width - 1)]


def _stage(cursor: Cursor) -> str:
    """What the sub-step of the key-set card does; empty unless the reader is at one."""
    card = None if cursor.stage is None else key_set_card(cursor.trace, cursor.at)
    return "" if card is None or cursor.stage is None else stage_sentence(card, cursor.stage)


def why_rows(cursor: Cursor, needed: list[Line], width: int, height: int) -> list[Line]:
    """The bar: what must be read, then the rule as far as there is room; names the key that shows what does not fit."""
    if len(needed) > height:
        more = f" … {key_of('whole').first}: all of it"
        last = fit(needed[height - 1], width - 1 - len(more))
        return [*needed[: height - 1], line(*last.spans, (more, "hint"))]
    event = cursor.trace[cursor.at]
    behind = rule(event)
    parts = (how_known_in_short(cursor.trace, event), behind.function, behind.file, behind.text)
    source = " · ".join(part for part in parts if part)
    room = height - len(needed)
    return [*needed, *paragraphs([line(" ", (source, "dim"), indent=1)], width - 1, room)] if room else needed


def message_lines(event: AnyEvent, sentence: str) -> list[Line]:
    """The message of an error, where the sentence has not all of it."""
    if not isinstance(event, ErrorRaised | ProgramRaised) or _plain(_begin(event.message)) in _plain(sentence):
        return []
    return [line(" ", (text, "error"), indent=1) for text in event.message.splitlines() if text.strip()]


def _begin(message: str) -> str:
    """A message without the table that some end with."""
    return message.partition("\n\n")[0]


def _plain(text: str) -> str:
    return " ".join(text.split())


def rule_lines(behind: Rule) -> list[Line]:
    """The rule, with PyTorch's function and file, a row each."""
    named = (("function", behind.function), ("file", behind.file), ("rule", behind.text))
    return [line((f"{name:<10}", "dim"), text, indent=10) for name, text in named if text]


def known_lines(trace: Trace, event: AnyEvent) -> list[Line]:
    """How the step is known, of an installed PyTorch."""
    known = how_known(trace, event)
    return [line((f"{'known':<10}", "dim"), known, indent=10)] if known else []

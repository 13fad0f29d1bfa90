"""The bars of the screen: program and step at the top, then the sentence of the step with its rule, and keys at the
bottom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec.structs import replace

from dispatchviz.core.record.events import AnyEvent, BackwardStarted, Dispatched, ErrorRaised, ProgramRaised
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.key_set_stages import stage_sentence
from dispatchviz.explain.diagnosis.mistakes import mistake_at
from dispatchviz.explain.kinds.all_kinds import how_known, how_known_in_short, rule, why_here
from dispatchviz.explain.kinds.kind import Rule
from dispatchviz.explain.outline.overview import counts, first_node
from dispatchviz.explain.sentences.statement import part_of, parts_of, place_of, text_of
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.lookups import uses_cuda
from dispatchviz.explain.trace_index.recorded_engine import engine_name, engine_text, is_live, why_chosen
from dispatchviz.explain.trace_index.thread_state import ThreadState, thread_state
from dispatchviz.foundation.english import shortened
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import QUIT, QUITS, Key, Leaving, entries, footer, key_of
from dispatchviz.views.predictions.spoilers import ASKED_FIRST, hides_sentence
from dispatchviz.views.replies import FASTER, SLOWER
from dispatchviz.views.text.line_fitting import (
    LONGEST,
    cut_row,
    cut_text,
    paragraphs,
    path_end,
    shorter,
    unfinished,
    wrap,
)
from dispatchviz.views.text.styled_line import Line, Span, line

LONGEST_FILTER = 24
"""The maximum width of a filter's text, in cells."""


LONGEST_STATE = 40
"""The maximum width of the thread state, in cells."""

MOST_OF_REASON = 3
"""The maximum number of rows, before the first move, for the choice of the engine."""

MOST_NOTICES = 3
"""The maximum number of rows for missing data in the trace and errors in its file."""


def header_rows(cursor: Cursor, width: int, most_of_reason: int = 1) -> list[Line]:
    """The rows of the header: one or two, at most ``most_of_reason`` on the choice of the engine, and one for each note
    on missing data.
    """
    header = cursor.trace.header
    name, cuda = header.program[-LONGEST:], engine_spans(cursor.trace)
    position, filtered = _position(cursor), _filter(cursor)
    joined = line(" ", (name, "bold"), *position, " ", *filtered, *cuda)
    if joined.width < width:
        rows = [joined]
    else:
        program = path_end(name, width - 2 - line(*position).width)
        more = line(*filtered, *cuda)
        rows = [line(" ", (program, "bold"), *position), *([more] if more.spans else [])]
    return [*rows, *_reason(header, width, most_of_reason), *_notices(cursor.trace)]


def _reason(header: Header, width: int, most: int) -> list[Line]:
    """The rows on why ``--engine auto`` chose the engine."""
    reason = why_chosen(header)
    return paragraphs([line(" ", (reason, "hint"), indent=1)], width, most) if reason else []


def _notices(trace: Trace) -> list[Line]:
    """The rows of the notices; the last one joins all that are left."""
    first, others = trace.notices[: MOST_NOTICES - 1], " · ".join(trace.notices[MOST_NOTICES - 1 :])
    return [line((" ! ", "warning"), (cut_text(text), "warning")) for text in (*first, others) if text]


def engine_spans(trace: Trace) -> tuple[Span, ...]:
    """The spans that name the observed PyTorch, and the implementation of ``cuda`` if the program uses it."""
    header, has_cuda = trace.header, uses_cuda(trace)
    if is_live(header):
        return (" on ", "dim"), (cut_text(engine_text(header) if has_cuda else engine_name(header)), "")
    return ((" cuda: ", "dim"), (cut_text(header.cuda), "")) if has_cuda else ()


def _position(cursor: Cursor) -> tuple[Span, ...]:
    step = position(cursor)
    recording = (("  recording", "warning"),) if cursor.is_growing else ()
    score = ((f"  {cursor.score}", "good"),) if cursor.score else ()
    return ("  ", ""), (step, "hint"), *recording, *score, *place(cursor.trace, cursor.at)


def place(trace: Trace, at: int) -> tuple[Span, ...]:
    """The spans on the depth of a step, the direction of the program, and the thread state."""
    return place_at_depth(trace.depths[at], direction(trace, at), short(thread_state(trace, at)))


def place_at_depth(depth: int, direction: str, state: str) -> tuple[Span, ...]:
    """The spans on a depth, a direction and a thread state in a few words."""
    shown = ((f"  {shorter(state, LONGEST_STATE)}", "warning"),) if state else ()
    return (f"  depth {depth}  {direction}", ""), *shown


def direction(trace: Trace, at: int) -> str:
    """Return ``backward`` or ``forward``, the direction of the program at a step."""
    return "backward" if runs_backward(trace, at) else "forward"


def position(cursor: Cursor) -> str:
    """The number of the step and of all steps, and the tempo while the trace plays."""
    return "  ".join(filter(None, (place_of(cursor.at, len(cursor.trace)), cursor.playing)))


def _filter(cursor: Cursor) -> tuple[Span, ...]:
    """The spans on the number of visible steps while a filter hides some."""
    if cursor.shown is None or not cursor.filter_text:
        return ()
    shown = f"{shorter(cursor.filter_text, LONGEST_FILTER)}  {part_of(len(cursor.shown), len(cursor.trace))}"
    clears = f" · {key_of('ask_filter').first} Enter clears "
    return (" filter: ", "dim"), (shown, "warning"), (clears, "dim")


def runs_backward(trace: Trace, at: int) -> bool:
    """Return whether a step belongs to a run of the engine."""
    return at_or_around(trace, at, BackwardStarted) is not None


def short(state: ThreadState) -> str:
    """The thread state in a few words; empty for the initial state."""
    return " · ".join(_short(state))


def _short(state: ThreadState) -> Iterator[str]:
    if state.inference.on:
        yield "inference mode"
    elif not state.grad.on:
        yield "no_grad" if state.grad.why == "torch.no_grad()" else "grad mode off"
    yield from (f"autocast {each.device}" for each in state.autocast if each.on)
    yield from state.transforms
    yield from state.modes
    guards = sum(not guard.is_mode for guard in state.guards)
    if guards:
        yield f"{guards} guard{'' if guards == 1 else 's'}"


def footer_row(width: int, breakpoints: bool = False, leaving: Leaving = QUITS, playing: bool = False) -> Line:
    """The keys of the footer, as many as fit. With breakpoints, ``continue`` is labeled as the next stop.

    While the trace plays, the footer shows the keys that change the tempo.
    """
    keys = _while_playing(leaving) if playing else entries(leaving)
    return footer((_with_stops(key) if breakpoints else key for key in keys), width)


def _with_stops(key: Key) -> Key:
    return replace(key, footer="next stop") if key.action == "move('resume')" else key


def _while_playing(leaving: Leaving) -> list[Key]:
    kept = {**PLAYING, "help": "help", QUIT: leaving.footer}
    single = [replace(key, keys=tuple(each for each in key.keys if " " not in each)) for key in entries(leaving)]
    return [replace(key, footer=kept[key.action]) for key in single if key.action in kept]


PLAYING = {FASTER: "faster", SLOWER: "slower", "app.autoplay": "stop"}
"""The labels of keys in the footer while the trace plays."""


LONGEST_REASON = 6_000
"""The maximum number of characters that are wrapped here. The full text is on its own screen."""

INTERRUPTED = "KeyboardInterrupt"
"""The exception that Ctrl+C raises, which is not an error of the program."""


def first_notes(trace: Trace, at: int) -> list[Line]:
    """The first notes: a summary of the program, a good place to look, and the most important keys. If the program
    stopped before its end, they name the keys that go back.
    """
    event = trace[at]
    if isinstance(event, ProgramRaised):
        return [_left_off(event)]
    keys = (*_caps("move('unfold')", "unfold"), GAP, *_caps("move('into')", "step"), GAP, *_caps("help", "keys"))
    about = opening_text(trace, at)
    return [line((f" {counts(trace)}", "hint"), GAP, *keys), *([] if about is None else [about])]


def opening_text(trace: Trace, at: int) -> Line | None:
    """The text on a first step that is the call of the first Node. It replaces the sentence of the step."""
    first = first_node(trace) if isinstance(trace[at], Dispatched) else None
    if first is None or not at < first.step <= trace.ends[at]:
        return None
    return line(f" {first.text} ", (key_of("target('Node', True)").first, "keycap"), " goes there")


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


def needed_rows(
    cursor: Cursor, notes: Iterable[Line], width: int, notes_alone: bool = False, most: int = 0
) -> list[Line]:
    """The most important rows: the notes if there are any, and unless ``notes_alone`` is true, the sentence of the step
    and the message of an error. If a diagnosis takes more than ``most`` rows, PyTorch's message gets one row.
    """
    event = cursor.trace[cursor.at]
    if notes_alone:
        return [part for note in notes for part in wrap(cut_row(replace(note, indent=1), LONGEST_REASON), width - 1)]
    shown = _stage(cursor) or sentence_at(cursor.trace, cursor.at)
    sentence = ASKED_FIRST.plain if hides_sentence(cursor) else shown
    parts, before = sentence_spans(sentence), [replace(note, indent=1) for note in notes]
    rows = _wrapped([*before, *_sentence_rows(parts), *message_lines(event, sentence)], width)
    if len(rows) <= most or len(parts) == 1 or not most:
        return rows
    return _wrapped([*before, *_sentence_rows(_in_bar(part, width) for part in parts)], width)


def _sentence_rows(parts: Iterable[tuple[Span, ...]]) -> list[Line]:
    return [line(" ", *part, indent=1) for part in parts]


def _wrapped(rows: Iterable[Line], width: int) -> list[Line]:
    return [part for row in rows for part in wrap(cut_row(row, LONGEST_REASON), width - 1)]


def sentence_at(trace: Trace, at: int) -> str:
    """The diagnosis of a silent mistake at the step, or else the reason for the step."""
    mistake = mistake_at(trace, at)
    return why_here(trace, at) if mistake is None else text_of(mistake.statements)


def sentence_spans(sentence: str) -> list[tuple[Span, ...]]:
    """The lines of a sentence. Most steps have one line; an error has the parts of its diagnosis."""
    return [
        ((f"{name}  ", "hint"), (text, "bold" if name == "why" else "")) if name else ((text, "bold"),)
        for name, text in parts_of(sentence)
    ]


def _in_bar(part: tuple[Span, ...], width: int) -> tuple[Span, ...]:
    """A part of a diagnosis in little space, with one row for PyTorch's message."""
    (name, role), *rest = part
    if name.strip() != "PyTorch says" or not rest:
        return part
    room = width - len(name) - 3
    return (name, role), *((shortened(text, room), of) for text, of in rest)


def _stage(cursor: Cursor) -> str:
    """The text on the sub-step of the key-set card; empty outside a walk."""
    card = None if cursor.stage is None else key_set_card(cursor.trace, cursor.at)
    return "" if card is None or cursor.stage is None else stage_sentence(card, cursor.stage)


def why_rows(cursor: Cursor, needed: list[Line], width: int, height: int, alone: bool = False) -> list[Line]:
    """The rows of the bar: the important rows, then the rule if there is room and they are not ``alone``. It names the
    key that shows the rest.
    """
    if len(needed) > height:
        more = f" {key_of('whole').first} shows all"
        last = unfinished(needed[height - 1], width - 1 - len(more))
        return [*needed[: height - 1], line(*last.spans, (more, "hint"))]
    if alone:
        return needed
    event = cursor.trace[cursor.at]
    behind = rule(event)
    parts = (how_known_in_short(cursor.trace, event), behind.function, behind.file, behind.text)
    source = " · ".join(part for part in parts if part)
    room = height - len(needed)
    return [*needed, *paragraphs([line(" ", (source, "dim"), indent=1)], width - 1, room)] if room else needed


def why_lines(trace: Trace, at: int) -> list[Line]:
    """The sentence of a step, the message of an error, the rule with PyTorch's function and file, and how the step is
    known.
    """
    return lines_of_sentence(trace, trace[at], sentence_at(trace, at))


def lines_of_sentence(trace: Trace, event: AnyEvent, sentence: str) -> list[Line]:
    """The rows of an event with a sentence that is known."""
    return [
        *(line(*part) for part in sentence_spans(sentence)),
        *message_lines(event, sentence),
        *rule_lines(rule(event)),
        *known_lines(trace, event),
    ]


def message_lines(event: AnyEvent, sentence: str) -> list[Line]:
    """The message of an error, if the sentence does not contain all of it."""
    if not isinstance(event, ErrorRaised | ProgramRaised) or _plain(_begin(event.message)) in _plain(sentence):
        return []
    return [line(" ", (text, "error"), indent=1) for text in event.message.splitlines() if text.strip()]


def _begin(message: str) -> str:
    """A message without the table at its end."""
    return message.partition("\n\n")[0]


def _plain(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=512)
def rule_lines(behind: Rule) -> tuple[Line, ...]:
    """The rows of the rule, with PyTorch's function and file. Few rules serve all steps."""
    named = (("function", behind.function), ("file", behind.file), ("rule", behind.text))
    return tuple(line((f"{name:<10}", "dim"), text, indent=10) for name, text in named if text)


def known_lines(trace: Trace, event: AnyEvent) -> list[Line]:
    """The rows on how the step is known; only for an installed PyTorch."""
    known = how_known(trace, event)
    return [line((f"{'known':<10}", "dim"), known, indent=10)] if known else []

"""The tensors of a step, then those of the program's variables, with their current state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_lanes import names_of
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.explain.trace_index.display_names import numbered
from dispatchviz.explain.trace_index.step_tensors import parameters_of, results_of, tensors_of, variables_of
from dispatchviz.explain.trace_index.tensor_card import TensorCard, tensor_card
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.foundation.english import plain_dtype, shaped
from dispatchviz.views.text.line_fitting import shorter
from dispatchviz.views.text.styled_line import Line, line

MOST = 8
"""The maximum number of tensors of each kind to show."""

MOST_RESULTS = 2
"""The maximum number of results of a row to show."""

LONGEST_NAME = 22


class _Shown(NamedTuple):
    """A tensor in the pane."""

    card: TensorCard
    name: str
    """The name, with the tensor's number unless that is shown elsewhere."""
    parameter: str
    """The parameter of the call at the step for which it is the argument; empty if it is none."""


NamedCard = tuple[TensorCard, str]
"""A tensor's card, and its name as the pane shows it."""


def named_card(trace: Trace, tensor: int, at: int) -> NamedCard | None:
    """Return the card and the name of a tensor, or None if the trace does not have it at that step."""
    card = tensor_card(trace, tensor, at)
    return None if card is None else (card, shorter(numbered(trace, tensor, at), LONGEST_NAME))


Cards = Callable[[Trace, int, int], NamedCard | None]
"""A function that finds the card and the name of a tensor at a step, as ``named_card`` does."""


def rows(trace: Trace, at: int, width: int, cards: Cards = named_card) -> list[Line]:
    """The rows of each tensor: its state, its keys, and the tensors and Nodes that share or save it."""
    here = tensors_of(trace, at)
    others = [tensor for tensor in variables_of(trace, at) if tensor not in here]
    shown = [list(_shown(trace, group[:MOST], at, cards)) for group in (here, others)]
    if not any(shown):
        return [line(("No tensor at this step, and no variable refers to one.", "dim"))]
    width = max(len(each.name) for group in shown for each in group)
    first, rest = (_rows(group, width) for group in shown)
    more = [line((f"… {len(here) - MOST} more at this step", "dim"))] if len(here) > MOST else []
    between = [line(("Variables, the most recently assigned first:", "dim"))] if rest else []
    return [*first, *more, *between, *rest, *_end_of_numbers(trace, at)]


def result_rows(trace: Trace, at: int, end: int) -> list[Line]:
    """The rows of the tensors that the row from ``at`` to ``end`` makes, in their state at its end; none if they exist
    before.
    """
    before = {*tensors_of(trace, at), *variables_of(trace, at)}
    made = [tensor for tensor in results_of(trace, at, end) if tensor not in before]
    shown = list(_shown(trace, made[:MOST_RESULTS], end))
    if not shown:
        return []
    width = max(len(each.name) for each in shown)
    now = [line(("Now:", "dim"))] if tensors_of(trace, at) else []
    return [line(("After this row:", "dim")), *_rows(shown, width), *now]


def _shown(trace: Trace, tensors: Sequence[int], at: int, cards: Cards = named_card) -> Iterator[_Shown]:
    parameters = parameters_of(trace, at)
    for tensor in tensors:
        if found := cards(trace, tensor, at):
            yield _Shown(*found, parameters.get(tensor, ""))


def _end_of_numbers(trace: Trace, at: int) -> Iterator[Line]:
    """Yield a note if the recording had reached its limit, so that the trace has no numbers of tensors here."""
    end = end_of_numbers(trace)
    if end is not None and at >= end:
        yield line((f"No numbers are recorded from step {end:,} on. Use --values to lift the limit.", "dim"), goto=end)


def _rows(tensors: Sequence[_Shown], width: int) -> list[Line]:
    """The rows of tensors. The keys are shown only if they differ from those of the tensor above."""
    before = [None, *(each.card.key_set for each in tensors)]
    return [row for each, keys in zip(tensors, before, strict=False) for row in _row(each, keys, width)]


@lru_cache(maxsize=256)
def _row(tensor: _Shown, before: int | None, width: int) -> tuple[Line, ...]:
    """The rows of one tensor; ``before`` are the keys of the tensor above. Most tensors are shown at many steps."""
    return tuple(_rows_of(tensor, before, width))


def _rows_of(tensor: _Shown, before: int | None, width: int) -> Iterator[Line]:
    card, alike = tensor.card, tensor.card.key_set == before
    passed = f"  argument {tensor.parameter}" if tensor.parameter not in ("", card.name) else ""
    version = () if card.version is None else ((f"  version {card.version}", "dim"),)
    yield line(
        (f"{tensor.name:<{width}}  ", "tensor"),
        f"{shaped(card.shape)} {plain_dtype(card.dtype)} {card.device}",
        (_history(card), "name"),
        *version,
        (passed, "dim"),
        ("  same keys" if alike else "", "dim"),
        key=f"tensor {card.number}",
        value="" if card.version is None else str(card.version),
        goto=card.made,
        about=TensorThing(card.number),
        indent=width + 2,
    )
    margin = " " * (width + 2)
    if card.numbers:
        yield line(margin, card.numbers, key=f"numbers {card.number}", value=card.numbers, indent=width + 2)
    if not alike:
        keys = "{" + ", ".join(names_of(card.key_set)) + "}"
        yield line(margin, (keys, "key"), key=f"keys {card.number}", indent=width + 2)
    for text in (_memory(card), _kept(card)):
        if text:
            yield line(margin, (text, "dim"), key=f"{text.split()[0]} {card.number}", indent=width + 2)


def _history(card: TensorCard) -> str:
    if card.grad_fn:
        return f"  grad_fn {card.grad_fn}"
    return "  requires grad" if card.requires_grad else ""


def _memory(card: TensorCard) -> str:
    """The text on the base of a view, and the tensors that share its memory."""
    if card.storage < 0:
        return "no memory of its own"
    view = f"view of {card.base}" if card.base else ""
    shared = f"shares memory with {_listed(card.mates, card.more_mates)}" if card.mates else ""
    return ", ".join(filter(None, (view, shared)))


def _listed(names: Sequence[str], more: int) -> str:
    return ", ".join(names) + (f" and {more} more" if more else "")


def _kept(card: TensorCard) -> str:
    """The text on the Nodes that saved it for backward."""
    kept = [f"{saved.node} as {saved.name} (version {saved.version})" for saved in card.saved if saved.version >= 0]
    return f"saved by {', '.join(kept)}" if kept else ""

"""The tensors that a step is about, then those of the program's variables: what each is at this moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_lanes import names_of
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.explain.trace_index.step_tensors import parameters_of, tensors_of, variables_of
from dispatchviz.explain.trace_index.tensor_card import TensorCard, tensor_card
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.foundation.english import plain_dtype, shaped
from dispatchviz.views.text.line_fitting import shorter
from dispatchviz.views.text.styled_line import Line, line

MOST = 8
"""So many tensors are shown of each kind: nobody reads more at a step."""

LONGEST_NAME = 22


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """Of each tensor what it is, its keys, and who shares or keeps it."""
    here = tensors_of(trace, at)
    others = [tensor for tensor in variables_of(trace, at) if tensor not in here]
    cards = [[card for tensor in group[:MOST] if (card := tensor_card(trace, tensor, at))] for group in (here, others)]
    if not any(cards):
        return [line(("This step is about no tensor, and no variable names one.", "dim"))]
    width = max(len(shorter(card.name, LONGEST_NAME)) for group in cards for card in group)
    parameters = parameters_of(trace, at)
    first, rest = (_rows(group, parameters, width) for group in cards)
    more = [line((f"… {len(here) - MOST} more at this step", "dim"))] if len(here) > MOST else []
    between = [line(("Variables, the last assigned first:", "dim"))] if rest else []
    return [*first, *more, *between, *rest, *_end_of_numbers(trace, at)]


def _end_of_numbers(trace: Trace, at: int) -> Iterator[Line]:
    """That the trace has no numbers of tensors here, where the recording had reached its limit."""
    end = end_of_numbers(trace)
    if end is not None and at >= end:
        yield line((f"From step {end:,} on no numbers are recorded: --values lifts the limit.", "dim"), goto=end)


def _rows(cards: Sequence[TensorCard], parameters: Mapping[int, str], width: int) -> list[Line]:
    """A tensor's keys are named where those of the one before it are others."""
    before = [None, *(card.key_set for card in cards)]
    return [
        row
        for card, keys in zip(cards, before, strict=False)
        for row in _card(card, parameters.get(card.number, ""), card.key_set == keys, width)
    ]


def _card(card: TensorCard, parameter: str, alike: bool, width: int) -> Iterator[Line]:
    name = shorter(card.name, LONGEST_NAME)
    passed = f"  argument {parameter}" if parameter not in ("", card.name) else ""
    version = () if card.version is None else ((f"  version {card.version}", "dim"),)
    yield line(
        (f"{name:<{width}}  ", "tensor"),
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
    """Whose view it is, and who else is on its memory."""
    if card.storage < 0:
        return "no memory of its own"
    view = f"view of {card.base}" if card.base else ""
    shared = f"shares memory with {_listed(card.mates, card.more_mates)}" if card.mates else ""
    return ", ".join(filter(None, (view, shared)))


def _listed(names: Sequence[str], more: int) -> str:
    return ", ".join(names) + (f" and {more} more" if more else "")


def _kept(card: TensorCard) -> str:
    """Which Nodes keep it for backward."""
    kept = [f"{saved.node} as {saved.name} (version {saved.version})" for saved in card.saved if saved.version >= 0]
    return f"saved by {', '.join(kept)}" if kept else ""

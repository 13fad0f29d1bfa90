"""The history of an operator's table as text, from top to bottom: ``table OP --history``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.explain.cells.cell_claims import TAGS
from dispatchviz.explain.cells.registration.registration_history import RegistrationHistory, table_after
from dispatchviz.explain.cells.registration.registration_steps import RegistrationStep
from dispatchviz.explain.keys.key_text import grouped_keys_text
from dispatchviz.views.cards.registration_step_text import SIGNS, block_lines, call_lines, step_lines
from dispatchviz.views.text.console import Console

ABOUT = (
    "A registration puts the kernel at the front of the list for its key (kernels_ of the operator's OperatorEntry). "
    "The dispatcher then recomputes every dispatch table entry that the key covers (updateDispatchTable_): each entry"
    " takes the best kernel registered so far. For each of these keys, setOperatorHasFallthroughForKey updates the "
    "operator's mask (nonFallthroughKeys_), which decides whether calls skip the key. An alias key is therefore "
    "resolved at registration, never when the operator is called."
)
"""The explanation of a registration."""

NOT_YET = (
    "Fallbacks apply to all operators. The dispatcher stores them (backendFallbackKernels_). This operator has no "
    "entry yet, and takes them when it gets one."
)
ALREADY = "Fallbacks apply to all operators. Each one recomputes this operator's table entry for its key."
"""The explanation of consecutive fallbacks, before and after the operator has an entry."""

FEW = 2
"""The minimum number of consecutive fallbacks that are listed one per line."""


def history_lines(
    history: RegistrationHistory, keys: Sequence[DispatchKey], everything: bool, console: Console
) -> Iterator[str]:
    """Yield the registrations. ``keys`` are the requested keys. If ``everything`` is true, nothing is folded."""
    yield from _head(history, console)
    said: set[str] | None = None if everything else set()
    for folds, run in groupby(history.steps, key=lambda step: step.kind == "fallback" and not (everything or keys)):
        steps = list(run)
        if folds and len(steps) >= FEW:
            yield ""
            yield from _fallbacks(steps, console)
        else:
            for step in steps:
                yield ""
                yield from step_lines(step, console, said, why=bool(keys), single=everything)
    yield from _end(history, keys, console)


def _head(history: RegistrationHistory, console: Console) -> Iterator[str]:
    build = f"  (build {history.build})" if history.build else ""
    yield console.heading(history.operator) + f": how its table is filled{build}"
    yield from console.wrapped(history.schema, 2, 6)
    yield ""
    yield console.heading("The order")
    yield from console.wrapped(history.order)
    yield ""
    yield console.heading("What a registration does")
    yield from console.wrapped(ABOUT)


# -- fallbacks that follow each other ---------------------------------------------------------------------------------


def _fallbacks(steps: Sequence[RegistrationStep], console: Console) -> Iterator[str]:
    """Yield one line for each fallback, since fallbacks apply to all operators."""
    numbers = f"{steps[0].number}-{steps[-1].number}"
    yield f"{console.styled(numbers, 'bold')}  {console.styled(f'{len(steps)} fallbacks', 'bold')}"
    for block in dict.fromkeys(step.block.replace(f"(_, {step.key},", "(_, KEY,") for step in steps):
        yield from block_lines(block, console)
    yield from console.wrapped(ALREADY if steps[-1].exists else NOT_YET, 4)
    keys, kernels = max(len(step.key) for step in steps), max(len(step.kernel) for step in steps)
    if 11 + keys + kernels + 2 + max(len(_file(step)) for step in steps) > console.width:
        kernels = 0
    for step in steps:
        yield from _fallback(step, keys, kernels, console)
    yield from _masked(steps, console)


def _fallback(step: RegistrationStep, keys: int, kernels: int, console: Console) -> Iterator[str]:
    sign = "↷" if step.calls else "●" if step.changes else "–" if step.exists else " "
    painted = console.styled(sign, SIGNS[sign]) if sign in SIGNS else sign
    row = f"    {step.number:>2} {sign} {step.key:<{keys}}  {step.kernel:<{kernels}}"
    notes = [_file(step), *(["the entry keeps its kernel"] if sign == "–" else [])]
    apart = [note for note in notes if len(row) + 2 + len(note) > console.width]
    beside = [note for note in notes if note not in apart][:1]
    yield row.replace(f" {sign} ", f" {painted} ", 1) + "".join("  " + console.styled(note, "dim") for note in beside)
    for note in [note for note in notes if note not in beside]:
        yield " " * 9 + console.styled(note, "dim")


def _file(step: RegistrationStep) -> str:
    return step.place.rpartition("/")[2]


def _masked(steps: Sequence[RegistrationStep], console: Console) -> Iterator[str]:
    """Yield the changes that the fallthroughs make to the mask."""
    calls = [call.key for step in steps for call in step.calls]
    if not calls:
        return
    before, after = steps[0].masks_before.single, steps[-1].masks.single
    yield from call_lines(calls, True, console)
    yield from console.wrapped(f"nonFallthroughKeys_ {before:#x} → {after:#x}", 6)


# -- the end ----------------------------------------------------------------------------------------------------------


def _end(history: RegistrationHistory, keys: Sequence[DispatchKey], console: Console) -> Iterator[str]:
    table = table_after(history.steps)
    yield ""
    if keys:
        changed = {key for step in history.steps for changed in step.changes for key in changed.keys}
        never = [key for key in keys if str(key) not in changed]
        if never:
            yield from console.wrapped(f"Empty throughout: {grouped_keys_text(never)}.", 0, 0)
    else:
        valid = sum(bool(what.kernel) for what in table.values())
        text = f"In the end, {valid} of the 137 table entries hold a kernel, and nonFallthroughKeys_ is "
        of_pytorch = history.steps[-1].step < 0
        shown = f" (dispatchviz table {history.operator} shows the table)" if of_pytorch else ""
        yield from console.wrapped(f"{text}{history.steps[-1].masks.single:#x}{shown}.", 0, 0)
        yield ""
    reasons = [changed.after.reason for step in history.steps for changed in step.changes if changed.after.kernel]
    yield from console.columns([(f"[{reason}]", TAGS[reason]) for reason in dict.fromkeys(reasons)], 0)

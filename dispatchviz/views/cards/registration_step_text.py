"""One registration of an operator as text: its block, its purpose, and the table entries and the mask that it
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.explain.cells.registration.registration_steps import ChangedCells, Held, Masks, RegistrationStep
from dispatchviz.explain.keys.key_text import grouped_keys_text
from dispatchviz.foundation.english import listed
from dispatchviz.views.text.console import Console

SIGNS = {"●": "green", "↷": "cyan"}
"""The signs for a changed table entry, and for a key that is removed from the mask or added again."""

_KEYS = re.compile(rf"\b(?:{'|'.join(sorted((key.name for key in DispatchKey), key=len, reverse=True))})\b")

_TAG, _STUCK = re.compile(r"\[[a-z ]+\]"), "\N{NO-BREAK SPACE}"


def step_lines(
    step: RegistrationStep,
    console: Console,
    said: set[str] | None = None,
    changes: bool = True,
    why: bool = True,
    single: bool = False,
) -> Iterator[str]:
    """Yield the lines of one registration.

    - ``said``: sentences that were shown before and are not repeated.
    - ``changes``: also show the entries that changed.
    - ``why``: add the reason for each.
    - ``single``: put each entry on its own line.
    """
    number = f"{step.number:>2}"
    place = console.styled(step.place, "dim")
    yield f"{console.styled(number, 'bold')}  {console.styled(step.kind, 'bold')}  {place}".rstrip()
    yield from block_lines(step.block, console)
    for sentence in step.sentences:
        form = _KEYS.sub("KEY", sentence)
        if said is None or form not in said:
            yield from console.wrapped(sentence, 4)
        if said is not None:
            said.add(form)
    for changed in step.changes if changes else ():
        yield from _changed(changed, why, single, console)
    yield from _calls(step, console)
    yield from _masks(step, console)


def block_lines(block: str, console: Console) -> Iterator[str]:
    """Yield a block as C++ or Python code, on one line if it fits."""
    macro, opens, inside = block.partition(" { ")
    texts = [(block, 4)]
    if opens and len(block) + 4 > console.width:
        texts = [(f"{macro} {{", 4), (inside.removesuffix(" }"), 6), ("}", 4)]
    for text, indent in texts:
        for row in console.wrapped(text, indent, indent + 4):
            code = row.lstrip()
            yield " " * (len(row) - len(code)) + console.styled(code, "cyan")


def held(what: Held) -> str:
    """The contents of a table entry: ``autograd_fallback [backend fallback]`` or ``no kernel``."""
    return f"{what.kernel} [{what.reason}]" if what.kernel else "no kernel"


def _changed(changed: ChangedCells, why: bool, single: bool, console: Console) -> Iterator[str]:
    what = f"{held(changed.before)} → {held(changed.after)}"
    if single:
        for cell, key in zip(changed.cells, changed.keys, strict=True):
            yield from signed("●", f"{cell} {key}: {what}", console)
    else:
        number = f"{len(changed.keys)} entries: " if len(changed.keys) > 1 else ""
        keys = grouped_keys_text([DispatchKey[key] for key in changed.keys])
        yield from signed("●", f"{number}{keys}: {what}", console)
    if why:
        yield from console.wrapped(changed.why, 6)


def signed(sign: str, text: str, console: Console) -> Iterator[str]:
    """Yield a sign of ``SIGNS`` and a wrapped text. PyTorch's tags are not broken."""
    whole = _TAG.sub(lambda tag: tag[0].replace(" ", _STUCK), text)
    first, *rest = (row.replace(_STUCK, " ") for row in console.wrapped(f"{sign} {whole}", 4, 8))
    yield first.replace(sign, console.styled(sign, SIGNS[sign]), 1)
    yield from rest


def _calls(step: RegistrationStep, console: Console) -> Iterator[str]:
    for falls in (True, False):
        yield from call_lines([call.key for call in step.calls if call.has_fallthrough is falls], falls, console)


def call_lines(keys: Sequence[str], falls_through: bool, console: Console) -> Iterator[str]:
    """Yield the calls of ``setOperatorHasFallthroughForKey``; nothing if there are no keys."""
    if not keys:
        return
    if falls_through:
        one = "the key is removed from the mask, so calls skip it"
        many = "the keys are removed from the mask, so calls skip them"
    else:
        one = "the key is in the mask again, so calls stop there"
        many = "the keys are in the mask again, so calls stop there"
    called = keys[0] if len(keys) == 1 else "KEY"
    of = "" if len(keys) == 1 else f" for {listed(keys)}"
    text = f"setOperatorHasFallthroughForKey({called}, {str(falls_through).lower()}){of}: {many if of else one}."
    yield from signed("↷", text, console)


def _masks(step: RegistrationStep, console: Console) -> Iterator[str]:
    before, after = step.masks_before, step.masks
    if before.single != after.single:
        yield from console.wrapped(f"nonFallthroughKeys_ {before.single:#x} → {after.single:#x}", 6)
    if after.per_backend and before.backends != after.backends:
        yield from console.wrapped(
            "requiresBitsetPerBackend_ is true, since the key falls through for some backends only: a call is masked "
            f"with nonFallthroughKeysPerBackend_ of its backend, {_backends(after)}.",
            6,
        )
    elif before.per_backend and not after.per_backend:
        yield from console.wrapped("requiresBitsetPerBackend_ is false again: all backends share one mask.", 6)


def _backends(masks: Masks) -> str:
    """``CPU 0x3fd7386bfbffffff, the 15 others 0x3fd7387bfbffffff``"""
    by_mask: dict[int, list[str]] = {}
    for backend, mask in masks.backends.items():
        by_mask.setdefault(mask, []).append(backend)
    *few, (most, others) = sorted(by_mask.items(), key=lambda group: len(group[1]))
    named = [f"{listed(backends)} {mask:#x}" for mask, backends in few]
    return ", ".join([*named, f"the {len(others)} others {most:#x}"])

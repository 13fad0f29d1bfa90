"""Diagnoses as text: lines that start with ``why``, ``PyTorch says``, ``try`` and ``see``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.note_rules import notes
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.explain.diagnosis.silent.recorded_numbers import until
from dispatchviz.explain.diagnosis.special import special
from dispatchviz.foundation.english import listed
from dispatchviz.views.text.console import Console

LABELS = ("why", "PyTorch says", "try", "not seen", "note", "see")
"""The labels of the parts, in order."""

NAMED = 3
"""The maximum number of features to name for a program without mistakes."""

COLUMN = max(map(len, LABELS)) + 2
"""The column at which the texts begin."""


def diagnosis_lines(trace: Trace, found: Sequence[Diagnosis], trace_file: str, console: Console) -> Iterator[str]:
    """Yield each diagnosis, with the command that opens the stepper at its proof. Without a diagnosis, yield a line
    that says so and the notes.
    """
    if not found:
        yield nothing_wrong(trace)
        for label, text in _of_notes(notes(trace), trace_file):
            yield from labeled(label, text, console)
    for number, diagnosis in enumerate(found):
        if number:
            yield ""
        for label, text in parts(diagnosis, trace_file):
            yield from labeled(label, text, console)


def parts(diagnosis: Diagnosis, trace_file: str = "") -> Iterator[tuple[str, str]]:
    """Yield the labeled parts of a diagnosis. Without a trace file, there is no command that opens it."""
    yield "why", diagnosis.why
    if diagnosis.says:
        yield "PyTorch says", diagnosis.quoted
    yield from (("try", fix) for fix in diagnosis.fixes)
    if diagnosis.unseen:
        yield "not seen", diagnosis.unseen
    if trace_file:
        yield _see(diagnosis.at, trace_file)


def _of_notes(found: Sequence[Note], trace_file: str) -> Iterator[tuple[str, str]]:
    """Yield the notes on a program without mistakes, and the command that opens the stepper at the first note."""
    yield from (("note", each.statement.text) for each in found)
    if found and trace_file:
        yield _see(found[0].at, trace_file)


def _see(step: int, trace_file: str) -> tuple[str, str]:
    return "see", f"dispatchviz open --step {step} {trace_file}"


def labeled(label: str, text: str, console: Console) -> Iterator[str]:
    """Yield the lines of one part, after its label."""
    lines = (
        [text] if label == "see" else console.wrapped(text, COLUMN)
    )  # a command stays on one line, so that it can be copied
    yield console.styled(label, "bold") + " " * (COLUMN - len(label)) + lines[0].lstrip()
    yield from lines[1:]


def nothing_wrong(trace: Trace) -> str:
    """The line for a program without mistakes, with its special features."""
    if only := trace.header.only:
        return (
            f"{trace.header.program}: no error. Only a part of the program was recorded ({', '.join(only)}), so "
            "mistakes that raise no error are not searched for."
        )
    sound = f"{trace.header.program}: no error and none of the known silent mistakes"
    found, values = [each.text for each in special(trace)[:NAMED]], until(trace)
    uses = f" It uses {listed(found)}." if found else ""
    return f"{sound}.{uses}{f' {values} NaN after that is not visible.' if values else ''}"


def as_values(trace: Trace, found: Sequence[Diagnosis]) -> dict[str, Any]:
    """The diagnoses as values for JSON."""
    return {
        "program": trace.header.program,
        "not seen": until(trace),
        "diagnoses": [
            {
                "kind": each.kind,
                "rank": each.rank,
                "step": each.at,
                "why": each.why,
                "PyTorch says": each.says,
                "try": each.fixes,
                "proof": each.proof,
                "not seen": each.unseen,
            }
            for each in found
        ],
        "notes": [
            {"kind": each.statement.kind, "step": each.at, "note": each.statement.text}
            for each in (() if found else notes(trace))
        ],
    }

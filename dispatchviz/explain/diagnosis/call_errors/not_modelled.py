"""The errors of programs that need a part of PyTorch that the model lacks."""

from __future__ import annotations

import re
import shlex

from dispatchviz.core.record.trace_file import Header
from dispatchviz.explain.diagnosis.arguments import diagnosed
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.foundation.english import shortened

NOT_IN_THE_MODEL = "not in the model"
"""The kind of the diagnosis."""

OURS = re.compile(r"(?<!neither in )dispatchviz's model\b|which dispatchviz does not implement")
"""The words in every error that says what the model lacks."""

NAME = re.compile(r"([\w.]+)'?(?:: it)? is not in dispatchviz's model")
KERNEL = re.compile(r"the dispatch table entry of (\S+) for")

LONGEST = 160
"""The number of characters of a message that are quoted."""


def lacks(failure: Failure) -> bool:
    """Return whether a program failed because the model lacks something. The error may be the cause of another one."""
    if is_live(failure.trace.header):
        return False
    return OURS.search(failure.message) is not None or OURS.search(failure.traceback) is not None


def not_modelled(failure: Failure) -> Diagnosis:
    """Name what the model lacks, and the command that records the program on an installed PyTorch."""
    where = on_line(failure.trace, failure.raised)
    user = sentence(where) if where else "The program"
    text = f"{user} uses {_lacking(failure)}, which the model of dispatchviz does not have."
    fix = f"Record it on an installed PyTorch: {_command(failure.trace.header)}"
    found = diagnosed(failure, Statement("not in the model", text), (fix,))
    return found._replace(says="")


def _lacking(failure: Failure) -> str:
    said = failure.message if OURS.search(failure.message) else failure.traceback
    if name := NAME.search(said):
        return name[1]
    if kernel := KERNEL.search(said):
        return f"the kernel of {kernel[1]}"
    line = next(each for each in said.splitlines() if OURS.search(each))
    return f"a part of PyTorch ({shortened(line.strip(), LONGEST)})"


def _command(header: Header) -> str:
    """Return the command for a trace, from which the options of its recording are not known."""
    program = header.program if header.program.endswith(".py") else "SCRIPT"
    return f"dispatchviz run --engine torch {shlex.join([program, *header.arguments])}"

"""Calls of PyTorch's functions with arguments that match no signature."""

from __future__ import annotations

import ast
import re

from dispatchviz.explain.diagnosis.arguments import diagnosed
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.modules import program_nodes
from dispatchviz.explain.diagnosis.words import article, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import counted, shortened

TYPE = re.compile(r"^(\w+)\(\): argument '(\w+)' (?:\(position (\d+)\) )?must be (.+?), not (.+)$")
COMBINATION = re.compile(
    r"^(\w+)\(\) received an invalid combination of arguments - got \((.*?)\), but expected (.*)", re.DOTALL
)

LONGEST = 160
"""The number of characters of a signature that are shown."""

COUNT = re.compile(r"(\w+)\(\) takes ((?:from )?[\d to]+) positional arguments? but (\d+) were given")
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef)


def wrong_type(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``sum(): argument 'input' (position 1) must be Tensor, not int``."""
    match = TYPE.match(failure.message)
    if match is None:
        return None
    function, name, _, wanted, got = match.groups()
    text = f"{_called(failure, function)} takes {article(wanted)} {wanted} as {name}, but gets {article(got)} {got}."
    fix = f"Pass {article(wanted)} {wanted} as {name}."
    if wanted == "Tensor" and got in ("int", "float", "list", "tuple", "bool"):
        fix = f"Make a tensor of the {got}: torch.tensor(...)."
    return diagnosed(failure, Statement("signature: type of an argument", text), (fix,))


def no_signature(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``sum() received an invalid combination of arguments``."""
    match = COMBINATION.match(failure.message)
    if match is None:
        return None
    signatures = [line.strip(" *") for line in match[3].splitlines() if line.startswith(" * ")] or [match[3].strip()]
    got = match[2].rstrip(", ") or "nothing"
    text = f"{_called(failure, match[1])} gets ({got}), which fits none of its {counted(len(signatures), 'signature')}."
    shown = [shortened(each, LONGEST) for each in signatures[:3]]
    return diagnosed(failure, Statement("signature: no signature fits", text), tuple(f"Pass {each}." for each in shown))


def too_many(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``mean() takes from 2 to 3 positional arguments but 4 were given``, except for a function
    of the program.
    """
    match = COUNT.match(failure.message)
    if match is None or any(
        isinstance(node, DEFINES) and node.name == match[1] for node in program_nodes(failure.trace)
    ):
        return None
    text = f"{_called(failure, match[1])} takes {match[2]} arguments by position, but gets {match[3]}."
    fix = "Pass fewer arguments by position: several numbers for one argument as a tuple, options by their names."
    return diagnosed(failure, Statement("signature: number of arguments", text), (fix,))


def _called(failure: Failure, function: str) -> str:
    where = on_line(failure.trace, failure.raised)
    return f"{function} on {where}" if where else function


RULES = (
    ("): argument '", wrong_type),
    ("received an invalid combination of arguments", no_signature),
    (" were given", too_many),
)

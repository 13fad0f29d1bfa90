"""Errors whose cause no rule knows, with the call that raised and its arguments, and errors of Python."""

from __future__ import annotations

import ast
import builtins
import re
from difflib import get_close_matches

from dispatchviz.explain.diagnosis.arguments import Argument, arguments, called, diagnosed, failed_call
from dispatchviz.explain.diagnosis.call_errors.not_modelled import lacks, not_modelled
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import tensors_on_line
from dispatchviz.explain.diagnosis.messages.table import known
from dispatchviz.explain.diagnosis.modules import program_nodes
from dispatchviz.explain.diagnosis.words import on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.foundation.english import listed, shortened

PYTHON = frozenset(
    [
        "KeyError",
        "NameError",
        "UnboundLocalError",
        "ZeroDivisionError",
        "AttributeError",
        "ModuleNotFoundError",
        "ImportError",
        "RecursionError",
        "FileNotFoundError",
        "OSError",
        "StopIteration",
        "SyntaxError",
        "IndentationError",
        "UnicodeDecodeError",
        "UnicodeEncodeError",
    ]
)
"""Exceptions that PyTorch's operators do not raise."""

PYTHON_MESSAGES = re.compile(
    r"^(?:(?:list|tuple|string|range object|pop) (?:assignment )?index out of range|pop from empty \w+"
    r"|unsupported operand type|'[\w.]+' object (?:is not|does not|cannot)"
    r"|.*missing \d+ required (?:positional|keyword)"
    r"|.*got an unexpected keyword argument|.*takes .*positional arguments? but|.*not supported between instances"
    r"|invalid literal for int|could not convert string|(?:not enough|too many) values to unpack|can only concatenate"
    r"|generator raised StopIteration|dictionary changed size|cannot unpack)"
)
"""Beginnings of messages that Python writes itself."""

ATTRIBUTE = re.compile(r"^'(\w+)' object has no attribute '(\w+)'")

MISSING = re.compile(r"has no attribute '(\w+)'")

MOST = 4
"""The number of arguments that are described."""


def plain(failure: Failure) -> Diagnosis:
    """Describe an error that no rule knows: the call, the line, the arguments."""
    if lacks(failure):
        return not_modelled(failure)
    general = known(failure.message)
    if general is None and failed_call(failure) is None and (_is_pythons(failure) or _is_the_programs(failure)):
        return _of_python(failure)
    given = arguments(failure) or tensors_on_line(failure)
    found = diagnosed(
        failure, Statement("error of no known kind", f"{_raiser(failure)}{_given(failure, given)}."), (), given
    )
    if general is None:
        return found
    cause = Statement("error: general cause", general.why)
    return found._replace(cause=(*found.cause, cause), fixes=(general.message.fix,))


def _raiser(failure: Failure) -> str:
    """Return the raiser: ``permute on line 3 (y = x.permute(0)) raised RuntimeError``, or without a call ``Line 3 (...)
    raised RuntimeError``.
    """
    name, where = failure.exception, on_line(failure.trace, failure.raised)
    if failed_call(failure) is not None:
        return f"{called(failure)} raised {name}"
    return f"{sentence(where)} raised {name}" if where else f"{name} ended the program"


def _given(failure: Failure, found: tuple[Argument, ...]) -> str:
    """Return the arguments: ``. It got x [2, 3] float32 on cpu``

    A recording of an installed PyTorch may not have a change of a parameter's ``.data`` to another dtype.
    """
    live = is_live(failure.trace.header)
    dtypes = ["" if live and "." in each.name else f" {each.dtype}" for each in found[:MOST]]
    descriptions = [f"{each.sized}{dtype} on {each.device}" for each, dtype in zip(found, dtypes, strict=False)]
    distinct = list({each.tensor: text for each, text in zip(found, descriptions, strict=False)}.values())
    got = "It got" if failed_call(failure) is not None else "It names"
    return f". {got} {listed(distinct)}" if distinct else ""


def _is_pythons(failure: Failure) -> bool:
    """Return whether Python itself raised the error, or a class of the program's own."""
    name = failure.exception
    own = not hasattr(builtins, name.rpartition(".")[2]) and "torch" not in name.lower()
    if name == "AttributeError" and _on_line(failure):
        return True
    return (name in PYTHON or own or PYTHON_MESSAGES.match(failure.message) is not None) and not _in_torch(failure)


def _on_line(failure: Failure) -> bool:
    """Return whether the line reads the missing attribute."""
    missing, line = MISSING.search(failure.message), failure.line
    return missing is not None and line is not None and f".{missing[1]}" in source_text(failure.trace, line)


def _in_torch(failure: Failure) -> bool:
    """Return whether the traceback ends in a file of PyTorch."""
    files = re.findall(r'^  File "(.*?)", line', failure.traceback, re.MULTILINE)
    return bool(files) and "/torch/" in files[-1].replace("\\", "/") and files[-1] != failure.file


def _is_the_programs(failure: Failure) -> bool:
    """Return whether the line is a ``raise`` or an ``assert`` of the program."""
    line = failure.line
    return line is not None and source_text(failure.trace, line).startswith(("raise ", "assert "))


def _of_python(failure: Failure) -> Diagnosis:
    where, name = on_line(failure.trace, failure.raised), failure.exception
    by = "The program" if _is_the_programs(failure) else "Python"
    what = f": {shortened(failure.message, 200)}" if failure.message else ""
    text = (
        f"{by} raised {name}{f' on {where}' if where else ''}{what}. The error does not come from PyTorch: none of "
        "its operators was running."
    )
    found = diagnosed(failure, Statement("error of Python", text), _python_fixes(failure))
    return found._replace(says="")


def _python_fixes(failure: Failure) -> tuple[str, ...]:
    """Return fixes for a missing name: a similar name, or the attributes that a class of the program sets."""
    missing = ATTRIBUTE.match(failure.message)
    if missing is None:
        return ()
    names = _attributes(failure, missing[1])
    if not names:
        return ()
    close = get_close_matches(missing[2], names, 1)
    if close:
        return (f"Did you mean {close[0]}, which {missing[1]} sets?",)
    return (f"Set self.{missing[2]} in {missing[1]}: its methods set {listed(names)}.",)


def _attributes(failure: Failure, name: str) -> list[str]:
    """Return the attributes that a class of the program assigns to ``self``."""
    nodes = program_nodes(failure.trace)
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
    stored = (node for each in classes for node in ast.walk(each) if isinstance(node, ast.Attribute))
    own = (node for node in stored if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self")
    return list(dict.fromkeys(node.attr for node in own))

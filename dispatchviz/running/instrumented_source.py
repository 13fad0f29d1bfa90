"""Instrumentation of a program's source. The compiled program reports its lines and the names that it binds, and cannot
notice this itself.

A call is inserted before each statement, and another one after each assignment. The called functions are constants of
the code object, so that no name appears in the program's namespaces. Each statement keeps its position, so tracebacks
read as usual. Docstrings, ``from __future__`` imports and the compiler's own warnings stay as they are.

NB: a debugger also stops at the head of a ``for`` loop in each iteration; here it counts as reached once.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, Protocol, cast

from dispatchviz.foundation.deep_recursion import deep_recursion
from dispatchviz.running.bound_names import names_bound_in_iterations
from dispatchviz.running.expression_calls import ExpressionCalls
from dispatchviz.running.inserted_calls import (
    AWAY,
    BEGIN,
    BINDS,
    COUNT,
    ELSEWHERE,
    GATE,
    HERE,
    ITEMS,
    ITERATION,
    LINE,
    LOOK,
    LOOP_OVER,
    LOOPS_AGAIN,
    NAME,
    PREFIX,
    SAME,
    SAME_VALUE,
    SAME_WITHIN,
    WITHIN,
)
from dispatchviz.running.recorded_part import RecordedPart
from dispatchviz.running.statement_calls import StatementCalls


class Watcher(Protocol):
    """The functions that a program calls. Each call concerns the calling frame."""

    def line_reached(self, line: int) -> None:
        """Note that a statement begins."""

    def call_begins(self, line: int) -> None:
        """Note that the first statement of a function begins, and with it the frame. ``line`` is 0 if the statement is
        about to report its line itself.
        """

    def variable_bound(self, scope: str, name: str, value: Any) -> None:
        """Note that a variable has a value now. ``scope`` is the function that it belongs to (empty: the module)."""

    def bound_in_iteration(self, scope: str, name: str, value: Any) -> None:
        """Note the same for the only statement of a loop or a function that binds a variable with this name."""

    def binding(self, scope: str, name: str, value: Any) -> Any:
        """Note that a variable is about to get a value within an expression (``:=``). Return the value."""

    def items_changed(self, scope: str, name: str, value: Any) -> None:
        """Note that an item or an attribute of a variable's value may have changed."""

    def here(self, value: Any = None) -> Any:
        """Note that the frame resumes within a statement. Return the value."""

    def away(self, value: Any = None) -> Any:
        """Note that the frame is about to return, yield or await. Return the value."""

    def within(self) -> Callable[[Any], Any]:
        """Note that the frame of a lambda or a generator expression begins. The result is called with the value when
        the frame ends; if an error ends it, the result is dropped.
        """


class PartWatcher(Watcher, Protocol):
    """The functions that a program of which a part is recorded also calls."""

    def bindings_of(self, name: str) -> Callable[[], int]:
        """Return the function that counts the bindings of ``bound_in_iteration`` for a name."""

    def line_selected(self) -> None:
        """Note that a selected line is about to be reached. The gate opens."""

    def line_not_selected(self) -> None:
        """Note that another line is about to be reached. The gate closes if the same frame opened it."""

    def iteration_begins(self, line: int) -> None:
        """Note that an iteration of the loop at a line begins."""

    def loop_over(self, line: int) -> None:
        """Note that the loop at a line has ended."""


ALL = RecordedPart()
"""A program of which everything is recorded."""
Changed = Callable[[ast.Module], ast.Module]
"""A function that makes the syntax tree to run from a program's own. Statements keep their positions."""


def compile_instrumented(
    source: str, file: str, watcher: Watcher, changed: Changed = lambda tree: tree, part: RecordedPart = ALL
) -> CodeType:
    """Return the code of a whole program, possibly ``changed``, which reports to the watcher.

    With a gate in ``part`` it reports only while the gate is open. Raise SyntaxError as ``compile`` does.
    """
    compile(source, file, "exec", dont_inherit=True)  # raises the compiler's errors and warnings once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # "str is not callable": it will be, below
        try:
            code = _compiled(source, file, StatementCalls(part), changed)
        except SyntaxError:  # with ours, too many blocks are nested
            code = _compiled(source, file, StatementCalls(part, blocks=False), changed)
    return with_constants(code, _Replacements(watcher, part))


class _Replacements(dict[str, Any]):
    """The objects that take the places of our constants."""

    def __init__(self, watcher: Watcher, part: RecordedPart) -> None:
        super().__init__(
            {
                LINE: watcher.line_reached,
                BEGIN: watcher.call_begins,
                NAME: watcher.variable_bound,
                ITERATION: watcher.bound_in_iteration,
                BINDS: watcher.binding,
                ITEMS: watcher.items_changed,
                HERE: watcher.here,
                AWAY: watcher.away,
                WITHIN: watcher.within,
            }
        )
        self._watcher = watcher
        if part != ALL:
            self._add(cast(PartWatcher, watcher), part)

    def _add(self, watcher: PartWatcher, part: RecordedPart) -> None:
        self.update(
            {
                GATE: part.gate,
                LOOK: watcher.line_selected,
                ELSEWHERE: watcher.line_not_selected,
                LOOPS_AGAIN: watcher.iteration_begins,
                LOOP_OVER: watcher.loop_over,
                SAME: lambda value=None: value,
                SAME_VALUE: lambda scope, name, value: value,
                SAME_WITHIN: lambda: lambda value: value,
            }
        )

    def __missing__(self, constant: str) -> Any:
        if not constant.startswith(COUNT):
            return constant
        return cast(PartWatcher, self._watcher).bindings_of(constant.removeprefix(COUNT))


def _compiled(source: str, file: str, watched: StatementCalls, changed: Changed) -> CodeType:
    with deep_recursion():  # Python has compiled the original, so this recursion ends too
        tree = changed(ast.parse(source, file))
        watched.in_iterations = names_bound_in_iterations(tree)
        tree = watched.visit(ExpressionCalls(watched.part).visit(tree))
        code: CodeType = compile(tree, file, "exec", dont_inherit=True)
    return code


def with_constants(code: CodeType, replacements: Mapping[str, Any]) -> CodeType:
    """Return the same code with some of its string constants, here and in all inner functions, replaced by
    other objects.
    """
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(with_constants(constant, replacements))
        else:
            is_ours = isinstance(constant, str) and constant.startswith(PREFIX)
            constants.append(replacements[constant] if is_ours else constant)
    return code.replace(co_consts=tuple(constants))

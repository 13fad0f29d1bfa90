"""Instrumentation of a program's source. The compiled program reports its lines and the names that it binds, and cannot
notice this itself.

A call is inserted before each statement, and another one after each assignment. The called functions are constants of
the code object, so that no name appears in the program's namespaces. Each statement keeps its position, so tracebacks
read as usual. Docstrings, ``from __future__`` imports and the compiler's own warnings stay as they are.

NB: a debugger also stops at the head of a ``for`` loop in each iteration; here it counts as reached once.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType
from typing import Any, Protocol, TypeVar, cast

from dispatchviz.running.recorded_part import RecordedPart

_PREFIX = "\0dispatchviz "
_LINE, _BEGIN, _NAME, _ITERATION, _BINDS, _ITEMS, _HERE, _AWAY, _WITHIN = (
    f"{_PREFIX}{what}" for what in ("line", "begin", "name", "iteration", "binds", "items", "here", "away", "within")
)
"""Constants that no normal program contains. The compiled code has the functions to call in their place."""
_GATE, _LOOK, _ELSEWHERE, _LOOPS_AGAIN, _LOOP_OVER, _SAME, _SAME_VALUE, _SAME_WITHIN = (
    f"{_PREFIX}{what}"
    for what in ("gate", "look", "elsewhere", "loops again", "loop over", "same", "same value", "same within")
)
"""The same for a recording of a part. ``_SAME`` and the others return their last argument. They replace functions of
the watcher while the gate is closed.
"""
_COUNT = f"{_PREFIX}count "
"""The beginning of a constant for the function that counts a binding of the variable whose name follows."""

Node = TypeVar("Node", bound=ast.AST)

_LOOPS = ast.For | ast.AsyncFor | ast.While
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = _FUNCTIONS | ast.ClassDef
_INNER = ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


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
            code = _compiled(source, file, _Watched(part), changed)
        except SyntaxError:  # with ours, too many blocks are nested
            code = _compiled(source, file, _Watched(part, blocks=False), changed)
    return with_constants(code, _Replacements(watcher, part))


class _Replacements(dict[str, Any]):
    """The objects that take the places of our constants."""

    def __init__(self, watcher: Watcher, part: RecordedPart) -> None:
        super().__init__(
            {
                _LINE: watcher.line_reached,
                _BEGIN: watcher.call_begins,
                _NAME: watcher.variable_bound,
                _ITERATION: watcher.bound_in_iteration,
                _BINDS: watcher.binding,
                _ITEMS: watcher.items_changed,
                _HERE: watcher.here,
                _AWAY: watcher.away,
                _WITHIN: watcher.within,
            }
        )
        self._watcher = watcher
        if part != ALL:
            self._add(cast(PartWatcher, watcher), part)

    def _add(self, watcher: PartWatcher, part: RecordedPart) -> None:
        self.update(
            {
                _GATE: part.gate,
                _LOOK: watcher.line_selected,
                _ELSEWHERE: watcher.line_not_selected,
                _LOOPS_AGAIN: watcher.iteration_begins,
                _LOOP_OVER: watcher.loop_over,
                _SAME: lambda value=None: value,
                _SAME_VALUE: lambda scope, name, value: value,
                _SAME_WITHIN: lambda: lambda value: value,
            }
        )

    def __missing__(self, constant: str) -> Any:
        if not constant.startswith(_COUNT):
            return constant
        return cast(PartWatcher, self._watcher).bindings_of(constant.removeprefix(_COUNT))


def _compiled(source: str, file: str, watched: _Watched, changed: Changed) -> CodeType:
    with deep_recursion():  # Python has compiled the original, so this recursion ends too
        tree = changed(ast.parse(source, file))
        watched.in_iterations = names_bound_in_iterations(tree)
        tree = watched.visit(_Frames(watched.part).visit(tree))
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
            is_ours = isinstance(constant, str) and constant.startswith(_PREFIX)
            constants.append(replacements[constant] if is_ours else constant)
    return code.replace(co_consts=tuple(constants))


class _Watched(ast.NodeTransformer):
    """The transformer that inserts the calls, suite by suite. With ``blocks`` it also inserts those that need a block
    around a suite.
    """

    def __init__(self, part: RecordedPart, blocks: bool = True) -> None:
        self.part = part
        self._scope: list[str] = []
        self._loops: list[ast.stmt] = []
        self._selects = False
        """True in a scope with selected lines."""
        self._blocks = blocks
        self.in_iterations: frozenset[str] = frozenset()
        """Variables that only one statement within loops and functions binds."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._selects = self._has_selected(node)
        node.body = self._suite(node.body, 0, documented=True)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit statements with suites. An expression contains no statement and is left unchanged."""
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            self._visit_suites(node)
        return node

    def _visit_suites(self, node: ast.AST) -> None:
        outside = self._selects
        if isinstance(node, _SCOPES):
            self._scope.append(node.name)
            self._selects = self._has_selected(node)
        # a suite on the line of its head is a line of its own only if it runs at another time
        head = node.lineno if isinstance(node, ast.stmt) and not isinstance(node, _SCOPES | _LOOPS) else 0
        bound = [*self._counted(node), *self._bound_at_entry(node)]
        for field in ("body", "orelse", "finalbody"):
            suite = getattr(node, field, None)
            if isinstance(suite, list):
                entry = bound if field == "body" else []
                inside = isinstance(node, _LOOPS) and field == "body"
                self._loops += [node] if inside else []  # type: ignore[list-item]
                begins = isinstance(node, _FUNCTIONS)
                setattr(node, field, entry + self._suite(suite, head, isinstance(node, _SCOPES), begins))
                if inside:
                    getattr(node, field).append(self._report(self._loops.pop(), _HERE))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self._visit_suites(part)
        if isinstance(node, ast.While):
            node.test = self._line_then(node.test, node.lineno)
        if isinstance(node, _SCOPES):
            self._scope.pop()
            self._selects = outside
            self._finally(node, _AWAY, _first_real(node.body, documented=True))
        if isinstance(node, ast.With | ast.AsyncWith):
            self._finally(node, _HERE, 0)

    def _finally(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.With | ast.AsyncWith,
        what: str,
        first: int,
    ) -> None:
        """Wrap a suite as ``try: suite finally: call``."""
        if self._blocks and node.body[first:]:
            block = ast.Try(node.body[first:], [], [], [self._report(node, what)])
            node.body[first:] = [ast.copy_location(block, node)]

    def _suite(self, suite: list[ast.stmt], line: int, documented: bool, begins: bool = False) -> list[ast.stmt]:
        """Return the statements with their calls. ``line`` has been reported already; ``begins`` is True for the suite
        of a function.
        """
        first = _first_real(suite, documented)
        result = suite[:first]
        for statement in suite[first:]:
            if _line_of(statement) != line:
                line = _line_of(statement)
                result += self._selection(statement, line)
                reports_itself = isinstance(statement, ast.While)  # its condition does so in each iteration
                if begins or not reports_itself:
                    announced = ast.Constant(0 if reports_itself else line)
                    result.append(self._report(statement, _BEGIN if begins else _LINE, announced))
                begins = False
            if isinstance(statement, ast.Continue):
                result.append(self._report(self._loops[-1], _HERE))
            is_counted = self._is_counted(statement)
            self.visit(statement)
            result.append(_until_over(statement) if is_counted else statement)
            repeats = bool(self._scope or self._loops)
            result += [self._bind(name, repeats) for target in _targets(statement) for name in _names(target)]
            result += map(self._unbind, _deleted(statement))
            result += map(self._items, _with_other_items(statement))
        return result

    def _bound_at_entry(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield calls for a loop's variables and for the names of ``with``, which are bound when the suite begins, on
        the line of its head.
        """
        targets: list[ast.expr | None] = []
        if isinstance(node, ast.For | ast.AsyncFor):
            targets = [node.target]
        elif isinstance(node, ast.With | ast.AsyncWith):
            targets = [item.optional_vars for item in node.items]
        repeats = bool(self._scope or self._loops or isinstance(node, _LOOPS))
        for target in targets:
            yield from (self._bind(name, repeats) for name in _names(target))

    def _is_counted(self, node: ast.AST) -> bool:
        """Return whether the iterations of a loop are counted."""
        return isinstance(node, _LOOPS) and self._blocks and self.part.counts(node.lineno, not self._loops)

    def _counted(self, node: ast.AST) -> Iterator[ast.stmt]:
        """Yield a call at the beginning of each iteration of a counted loop."""
        if isinstance(node, _LOOPS) and self._is_counted(node):
            yield _call(node, _LOOPS_AGAIN, ast.Constant(node.lineno))

    def _has_selected(self, scope: ast.AST) -> bool:
        """Return whether selected lines are in a scope, or in one within it."""
        lines = {_line_of(one) for one in ast.walk(scope) if isinstance(one, ast.stmt)} if self.part.lines else ()
        return any(map(self.part.opens_at, lines))

    def _selection(self, statement: ast.stmt, line: int) -> Iterator[ast.stmt]:
        """Yield a call that opens the gate before a selected line, and one that may close it before another line."""
        if self.part.opens_at(line):
            yield _call(statement, _LOOK)
        elif self._selects:
            yield self._report(statement, _ELSEWHERE)

    def _report(self, at: ast.stmt | ast.expr, what: str, *args: ast.expr) -> ast.Expr:
        """Return a call that is made only while the gate is open."""
        call = _call(at, what, *args)
        if self.part.gate is not None:
            call.value = _located(ast.BoolOp(ast.And(), [_gate(), call.value]), at)
        return call

    def _bind(self, name: ast.Name, repeats: bool = False) -> ast.stmt:
        if not (repeats and name.id in self.in_iterations):
            return self._about(name, _NAME, _value_of(name))
        bound = self._about(name, _ITERATION, _value_of(name))
        if self.part.gate is not None:  # bindings are counted even if they are not recorded
            assert isinstance(bound.value, ast.BoolOp)
            otherwise = _call(name, f"{_COUNT}{name.id}").value
            bound.value = _located(ast.IfExp(_gate(), bound.value.values[1], otherwise), name)
        return bound

    def _unbind(self, name: ast.Name) -> ast.stmt:
        return self._about(name, _NAME, ast.Constant(None))

    def _items(self, name: ast.Name) -> ast.stmt:
        return self._about(name, _ITEMS, _value_of(name))

    def _about(self, name: ast.Name, what: str, value: ast.expr) -> ast.Expr:
        return self._report(name, what, ast.Constant(".".join(self._scope)), ast.Constant(name.id), value)

    def _line_then(self, test: ast.expr, line: int) -> ast.expr:
        """Return a loop's condition that reports its line each time. The call returns None, so ``or`` gives the
        condition.
        """
        call = self._report(test, _LINE, ast.Constant(line)).value
        return ast.copy_location(ast.BoolOp(ast.Or(), [call, test]), test)


class _Frames(ast.NodeTransformer):
    """The transformer for frames that begin, wait or end within an expression, and for variables that are bound in one.

    Annotations are left unchanged, because they may be kept as text.
    """

    def __init__(self, part: RecordedPart) -> None:
        self._is_gated = part.gate is not None
        self._scope: list[str] = []
        self._inner = 0
        """The number of lambdas and comprehensions around. Names bound in them are ignored, because they have frames of
        their own.
        """

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit everything except annotations."""
        annotations = [(name, getattr(node, name, None)) for name in ("annotation", "returns")]
        for name, annotation in annotations:
            if annotation is not None:
                setattr(node, name, None)
        self._visit_within(node)
        for name, annotation in annotations:
            if annotation is not None:
                setattr(node, name, annotation)
        return node

    def _visit_within(self, node: ast.AST) -> None:
        scope, inner = self._scope, self._inner
        self._inner += isinstance(node, _INNER)
        if isinstance(node, _SCOPES):
            body, node.body = node.body, []
            super().generic_visit(node)  # decorators and defaults belong to the scope around
            self._scope = [*scope, node.name]
            node.body = [self.visit(statement) for statement in body]
        else:
            super().generic_visit(node)
        self._scope, self._inner = scope, inner

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        if not self._inner:
            name = ast.Constant(node.target.id)
            node.value = self._call(node, _BINDS, ast.Constant(".".join(self._scope)), name, node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = self._entered_and_left(node.body)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        node.elt = self._entered_and_left(node.elt)
        for part in node.generators:
            part.ifs = [self._entered_and_left(condition) for condition in part.ifs]
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        node.value = self._call(node, _AWAY, *([node.value] if node.value else []))
        return self._call(node, _HERE, node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        return self._call(node, _HERE, node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        self.generic_visit(node)
        return self._call(node, _HERE, node)

    def _entered_and_left(self, value: ast.expr) -> ast.expr:
        """Return ``within()(value)``."""
        return ast.copy_location(ast.Call(self._call(value, _WITHIN), [value], []), value)

    def _call(self, at: ast.expr, what: str, *args: ast.expr) -> ast.Call:
        """Return a call. While the gate is closed, it only returns its last argument."""
        call = _call(at, what, *args).value
        assert isinstance(call, ast.Call)
        if self._is_gated:
            call.func = _located(ast.IfExp(_gate(), call.func, ast.Constant(_UNREPORTED[what])), at)
        return call


_UNREPORTED = {_BINDS: _SAME_VALUE, _AWAY: _SAME, _HERE: _SAME, _WITHIN: _SAME_WITHIN}
"""The function that is called within an expression while the gate is closed."""


def _gate() -> ast.expr:
    return ast.Attribute(ast.Constant(_GATE), "open", ast.Load())


def _until_over(loop: ast.stmt) -> ast.stmt:
    """Return a loop within a block that reports its end."""
    return ast.copy_location(ast.Try([loop], [], [], [_call(loop, _LOOP_OVER, ast.Constant(loop.lineno))]), loop)


def _located(expression: Node, at: ast.stmt | ast.expr) -> Node:
    """Give all parts of an expression that have none a position."""
    for part in ast.walk(expression):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, at)
    return expression


def _call(at: ast.stmt | ast.expr, what: str, *args: ast.expr) -> ast.Expr:
    return _located(ast.Expr(ast.Call(ast.Constant(what), list(args), [])), at)


def _first_real(suite: list[ast.stmt], documented: bool) -> int:
    """Return the number of statements that must stay first: the docstring and ``from __future__`` imports."""
    at = 0
    if documented and ast.get_docstring(ast.Module(suite, []), clean=False) is not None:
        at = 1
    while at < len(suite) and _is_future(suite[at]):
        at += 1
    return at


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _line_of(statement: ast.stmt) -> int:
    """Return the line of a statement. A decorated definition begins at its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _value_of(name: ast.Name) -> ast.expr:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def _deleted(statement: ast.stmt) -> Iterator[ast.Name]:
    """Yield the variables that a ``del`` deletes."""
    if isinstance(statement, ast.Delete):
        for target in statement.targets:
            yield from _names(target)


_CHANGING = frozenset(
    ["append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem"]
)
"""The methods of lists and dictionaries that add, remove or reorder items."""


def _with_other_items(statement: ast.stmt) -> Iterator[ast.Name]:
    """Yield the variables whose items or attributes a statement changes: ``ws[0] = w``, ``ws.append(w)``, ``net.w =
    w``.
    """
    targets = statement.targets if isinstance(statement, ast.Delete) else _targets(statement)
    for target in targets:
        if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.value, ast.Name):
            yield target.value
    match statement:
        case ast.Expr(value=called) | ast.Assign(value=called):
            match called:
                case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method)) if method in _CHANGING:
                    yield name
                case ast.Call(func=ast.Name("setattr" | "delattr"), args=[ast.Name() as name, *_]):
                    yield name


def names_bound_in_iterations(tree: ast.AST) -> frozenset[str]:
    """Return the variables that exactly one statement within loops and functions binds."""
    counts = Counter(_bound_again_and_again(tree, False))
    in_expressions = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)}
    return frozenset(name for name, count in counts.items() if count == 1) - in_expressions


def _bound_again_and_again(node: ast.AST, again: bool) -> Iterator[str]:
    """Yield the variables that statements within loops and functions bind, and those of the loops themselves."""
    targets = _targets(node) if isinstance(node, ast.stmt) else []
    if isinstance(node, ast.For | ast.AsyncFor):
        again, targets = True, [node.target]
    elif isinstance(node, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    if again:
        yield from (name.id for target in targets for name in _names(target))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _bound_again_and_again(child, again or isinstance(node, _LOOPS | _SCOPES))


def _targets(statement: ast.stmt) -> list[ast.expr]:
    match statement:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target):
            return [target]
        case ast.AnnAssign(target=target, value=ast.expr()):
            return [target]
    return []


def _names(target: ast.expr | None) -> Iterator[ast.Name]:
    """Yield the plain variables of an assignment's left side, in order."""
    match target:
        case ast.Name():
            yield target
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _names(part)
        case ast.Starred(value=value):
            yield from _names(value)


DEEPEST = 100_000
"""The number of nested calls. They are Python's own, which take no place on the C stack."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let Python functions nest their calls that deep inside the block."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)

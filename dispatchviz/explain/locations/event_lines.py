"""The line of a function that each event within it comes from. The calls in the function's syntax tree are matched with
the events in their order.

A *step* is a point in a function where a recorded event can happen: ``ops.X.call(...)`` dispatches X and nothing else,
``collect_next_edges(...)`` creates edges, a ``with`` enters and leaves its guard, any other call may cause any event.
Steps follow each other in the order in which Python runs them: an ``if`` takes one of its branches, a loop may repeat.
Of all paths through a function, the one that explains the events best is used. A function of ours that is called is
read too (``source_functions.py``), and its steps get the line of the call.

``MAKES`` has the meaning of the calls that kernels have in common, of the code that the generator writes
(``core/codegen/autograd.py``, ``registers.py``), and of the calls in kernels written by hand.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from dispatchviz.core.record import events as ev
from dispatchviz.core.schema.python_signature import class_name
from dispatchviz.explain.locations.source_functions import called_function

MAKES: dict[str, tuple[type[ev.Event], ...]] = {
    "compute_requires_grad": (ev.NoNodeMade,),
    "never_differentiable": (ev.NoNodeMade,),
    "collect_next_edges": (ev.EdgesCollected, ev.AccumulatorMade, ev.NodeCreated),
    "set_next_edges": (ev.EdgesCollected,),
    "keep": (ev.AttributeSaved,),
    "save": (ev.VariableSaved, ev.VariableNotSaved, ev.SavedTensorHookRan),
    "unpack": (ev.SavedTensorHookRan,),
    "set_history": (ev.HistorySet,),
    "rebase_history": (ev.HistoryRebased, ev.NodeCreated, ev.EdgesCollected, ev.AccumulatorMade),
    "increment_version": (ev.VersionBumped,),
    "check_inplace": (ev.InplaceChecked,),
    "as_view": (ev.ViewMade,),
    "non_differentiable_view": (ev.ViewMade,),
    "task_should_compute_output": (ev.FormulaSkipped,),
    "task_should_compute_output_any": (ev.FormulaSkipped,),
    "enter_meta": (ev.MetaEntered,),
    "enter_impl": (ev.ImplEntered,),
    "forward_formula": (ev.ForwardFormulaEntered,),
    "set_fw_grad": (ev.TangentSet,),
    "bring_back": (ev.ProxyCopied,),
    "finish": (ev.ProxyCopied,),
}
"""The events that a call of a function of this name may cause itself."""

_ONLY = (
    *("enter_meta", "enter_impl", "keep", "set_history", "increment_version"),
    *("compute_requires_grad", "never_differentiable"),
)
"""The functions among them that cause no other events. After ``collect_next_edges``, for example, a view's history may
be regenerated.
"""

_RARELY = (
    "is_fw_grad_defined",
    "check_out_variant",
    "check_no_requires_grad",
    "should_compute_output",
)
"""The functions that nearly always cause no event."""

_SILENT = frozenset(dir(builtins)) | {"cast"}
"""The functions that do nothing that a trace records."""

_ASTRAY = 100
"""The cost of an event that a step cannot cause, or of skipping a dispatch that did not happen."""

BESIDE = (ev.TensorCreated, ev.Boxed, ev.Unboxed)
"""The events that belong to the next event. A tensor is introduced together with the first event that names it."""

_NEVER = 1000 * _ASTRAY

_WITHOUT_CALLS = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
"""The parts of a syntax tree that contain no call."""

_DEEPEST, _MOST = 4, 400
"""The greatest depth of nested calls that are read, and the number of steps up to which they are read."""


class Step(Struct):
    """A point where an event can happen."""

    line: int
    makes: tuple[type[ev.Event], ...] = ()
    operator: str = ""
    """The operator that it dispatches, in the form of the class name: ``add_Tensor``. A step with an operator happens
    exactly once.
    """
    how: str = ""
    guard: str = ""
    """The guard that it enters or leaves."""
    name: str = ""
    """The attribute or variable that it saves or unpacks, or the Node that it creates."""
    other: int = _ASTRAY
    """The cost of any other event; small for the call of an unknown function."""
    before: set[int] = field(default_factory=set)
    """The indices of the steps that may come just before. -1 is the beginning."""

    def cost(self, event: ev.AnyEvent) -> int:
        """Return the cost of the step as an explanation of an event."""
        match event:
            case ev.Dispatched() if self.operator:
                return 0 if self._dispatches(event) else _ASTRAY
            case ev.GuardEntered() | ev.GuardLeft() if self.guard:
                return 0 if type(event) in self.makes and event.guard == self.guard else _ASTRAY
            case (
                ev.AttributeSaved()
                | ev.VariableSaved()
                | ev.VariableNotSaved()
                | ev.SavedTensorHookRan()
                | ev.NodeCreated()
            ) if self.makes:
                known = type(event) in self.makes
                return (0 if self.name in ("", event.name) else 3) if known else self.other
        if self.makes and isinstance(event, self.makes):
            return 0
        return self.other

    def _dispatches(self, event: ev.Dispatched) -> bool:
        return class_name(event.operator) == self.operator and event.how.startswith(self.how)


def lines_of(
    file: str, function: ast.FunctionDef, events: Sequence[ev.AnyEvent], skipped: frozenset[int] = frozenset()
) -> list[int]:
    """Return the line of each event, in order; 0 for an event for which the function has no step.

    ``skipped`` has the edges of a Node whose formulas did not run.
    """
    known = _known_lines(file, function, skipped)
    alike = tuple(map(_seen_by_steps, events))
    if alike not in known:
        known[alike] = _found_lines(file, function, events, skipped)
    return known[alike]


@functools.lru_cache(maxsize=512)
def _known_lines(
    file: str, function: ast.FunctionDef, skipped: frozenset[int]
) -> dict[tuple[tuple[object, ...], ...], list[int]]:
    """Return the lines that were found for a function, by all that decides about them. A function mostly runs in the
    same way each time.
    """
    return {}


def _seen_by_steps(event: ev.AnyEvent) -> tuple[object, ...]:
    """Return all of an event that ``Step.cost`` reads."""
    return (type(event), *(getattr(event, field, "") for field in ("operator", "how", "guard", "name")))


def _found_lines(
    file: str, function: ast.FunctionDef, events: Sequence[ev.AnyEvent], skipped: frozenset[int]
) -> list[int]:
    steps = _steps(file, function, skipped)
    essential: Sequence[ev.AnyEvent] = [event for event in events if not isinstance(event, BESIDE)] or events
    best = _best(steps, [[step.cost(event) for step in steps] for event in essential])
    lines = {event.seq: steps[at].line if at >= 0 else 0 for event, at in zip(essential, best, strict=True)}
    found: list[int] = []
    for event in reversed(events):
        found.append(lines.get(event.seq, found[-1] if found else lines[essential[-1].seq]))
    return found[::-1]


@functools.lru_cache(maxsize=512)
def _steps(file: str, function: ast.FunctionDef, skipped: frozenset[int]) -> list[Step]:
    return Reader(file, skipped).read(function)


# -- from the syntax tree to steps -------------------------------------------------------------------------------------


class Reader(ast.NodeVisitor):
    """A reader of the steps of a function, in the order in which Python runs them."""

    def __init__(self, file: str, skipped: frozenset[int] = frozenset()) -> None:
        """Create the reader. ``skipped`` has the edges of a Node whose formulas did not run."""
        self._skipped = skipped
        self.steps: list[Step] = []
        self.last: set[int] = {-1}
        """The steps that may have been the last one so far."""
        self._line = 0
        """The line of the comprehension or call around, which has its own frame."""
        self._files = [file]
        """The files that are being read: of the function, of a function that it calls, and so on."""
        self._within: list[ast.FunctionDef] = []
        self._returned: set[int] = set()

    def read(self, function: ast.FunctionDef) -> list[Step]:
        """Return all steps. The last one is the end."""
        self._all(function.body)
        self.steps.append(Step(0, before=self.last | self._returned, other=_NEVER))
        return self.steps

    def visit(self, node: ast.AST) -> None:
        """Read a part of the tree, unless it cannot contain a call."""
        if not isinstance(node, _WITHOUT_CALLS):
            super().visit(node)

    def _all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _add(self, node: ast.expr | ast.stmt, **known: object) -> None:
        step = Step(self._line or node.lineno, before=set(self.last), **known)  # type: ignore[arg-type]
        self.steps.append(step)
        at = len(self.steps) - 1
        if step.operator:
            self.last = {at}
        else:
            step.before.add(at)
            self._join(at)

    def _join(self, *more: int) -> None:
        """Add a step without an event after several possible last steps."""
        self.last = self.last | {*more}
        if self.last != {len(self.steps) - 1}:
            self.steps.append(Step(0, before=self.last, other=_NEVER))
            self.last = {len(self.steps) - 1}

    def visit_Call(self, node: ast.Call) -> None:
        """Read a call, its arguments first."""
        operator = _operator(node.func)
        if operator is None:
            self.visit(node.func)
        self._all([*node.args, *node.keywords])
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if operator is not None:
            self._add(node, operator=operator[0], how=operator[1])
        elif _is_node(name):
            self._add(node, makes=(ev.NodeCreated,), name=name)
        elif (recorded := _recorded(node)) is not None:
            self._add(node, makes=recorded)
        elif name in MAKES:
            self._add(node, makes=MAKES[name], name=_saved(node, name), other=_ASTRAY if name in _ONLY else 4)
        elif not (isinstance(node.func, ast.Name) and name in _SILENT) and not name[:1].isupper():
            self._called(node, name)

    def _called(self, node: ast.Call, name: str) -> None:
        """Read the call of a function that may do anything. A function of ours is read as well."""
        found = None if name in _RARELY else called_function(self._files[-1], node.func)
        follows = len(self._within) < _DEEPEST and len(self.steps) < _MOST
        if found is not None and follows and found.function not in self._within:
            outer, self._line = self._line, self._line or node.lineno
            returned, self._returned = self._returned, set()
            self._files.append(found.file)
            self._within.append(found.function)
            self._all(found.function.body)
            self._within.pop()
            self._files.pop()
            self.last = self.last | self._returned
            self._line, self._returned = outer, returned
            self._join()
            self._add(node, other=20)  # its events through code that cannot be read: a table of functions, a method
        else:
            self._add(node, other=8 if name in _RARELY else 4)

    def visit_With(self, node: ast.With) -> None:
        """Read a guard, which is entered and left on the same line."""
        guards = [_guard(item.context_expr) for item in node.items]
        for item, guard in zip(node.items, guards, strict=True):
            self.visit(item.context_expr)
            if guard:
                self._add(item.context_expr, makes=(ev.GuardEntered,), guard=guard, other=5)
        outer, self._returned = self._returned, set()
        self._all(node.body)
        returned, self._returned = self._returned, outer
        self.last = self.last | returned
        for guard in reversed(guards):
            self._add(node, makes=(ev.GuardLeft,), guard=guard, other=5)
        if returned:
            self._returned = self._returned | self.last

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        """Read one of two branches. A formula whose gradient is not computed is left out."""
        self.visit(node.test)
        if _edge(node.test) in self._skipped:
            return
        before = self.last
        self._all(node.body if isinstance(node.body, list) else [node.body])
        after = self.last
        self.last = before
        self._all(node.orelse if isinstance(node.orelse, list) else [node.orelse])
        self._join(*after)

    visit_IfExp = visit_If

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Read a Boolean operation. The operands after the first may not be evaluated."""
        self.visit(node.values[0])
        before = self.last
        self._all(node.values[1:])
        self._join(*before)

    def visit_For(self, node: ast.For) -> None:
        """Read a loop, which may run never or several times."""
        self.visit(node.iter)
        self._again([*node.body])
        self._all(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        """Read a loop with a condition that is evaluated each time."""
        self._again([node.test, *node.body])
        self._all(node.orelse)

    def _again(self, nodes: list[ast.AST]) -> None:
        before, begin = self.last, len(self.steps)
        self._all(nodes)
        for step in self.steps[begin:]:
            if step.before & before:
                step.before |= self.last
        self._join(*before)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> None:
        """Read a comprehension: a loop in its own frame."""
        self.visit(node.generators[0].iter)
        outer, self._line = self._line, self._line or node.lineno
        more = [generator.iter for generator in node.generators[1:]]
        self._again([*more, *(test for generator in node.generators for test in generator.ifs), node.elt])
        self._line = outer

    visit_GeneratorExp = visit_SetComp = visit_ListComp

    def visit_Try(self, node: ast.Try) -> None:
        """Read a try statement. Any step in it may fail."""
        begin, before = len(self.steps), self.last
        self._all(node.body)
        after = self.last
        self.last = before | set(range(begin, len(self.steps)))
        self._all(node.handlers)
        self.last = self.last | after
        self._all([*node.orelse, *node.finalbody])

    def visit_Return(self, node: ast.Return) -> None:
        """Read a return statement, after which no step follows."""
        self.generic_visit(node)
        self._returned = self._returned | self.last
        self.last = set()

    def visit_Raise(self, node: ast.Raise) -> None:
        """Read a raise statement, after which no step follows."""
        self.last = set()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Skip a lambda, which runs elsewhere."""

    visit_FunctionDef = visit_Lambda  # type: ignore[assignment]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Read an assignment without its annotation, which is not evaluated."""
        if node.value is not None:
            self.visit(node.value)


def _operator(function: ast.expr) -> tuple[str, str] | None:
    """Return the class and ``call`` or ``redispatch`` of ``ops.add_Tensor.call``."""
    match function:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="ops"), attr=name), attr="call" | "redispatch" as how):
            return name, how
    return None


def _saved(call: ast.Call, name: str) -> str:
    """Return the member in ``save(node, "self", ...)`` or ``self.self_.unpack()``; empty for other calls."""
    match name, call:
        case "keep" | "save", ast.Call(args=[_, ast.Constant(value=str(member)), *_]):
            return member
        case "unpack", ast.Call(func=ast.Attribute(value=ast.Attribute(attr=member))):
            return member.removesuffix("_")
    return ""


def _recorded(call: ast.Call) -> tuple[type[ev.Event], ...] | None:
    """Return the event of ``recorder.active.version_bumped(...)`` or ``recorder.active.note(("no_node_made",
    ...))``.
    """
    match call.func, call.args:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="recorder"), attr="active"), attr=fact), arguments:
            match fact, arguments:
                case "note", [ast.Tuple(elts=[ast.Constant(value=str(fact)), *_])]:
                    pass
            kind = getattr(ev, "".join(word.capitalize() for word in fact.split("_")), None)
            return () if kind is None else (kind,)
    return None


def _edge(test: ast.expr) -> int | None:
    """Return the edge in ``self.task_should_compute_output(0)``."""
    match test:
        case ast.Call(func=ast.Attribute(attr="task_should_compute_output"), args=[ast.Constant(value=int(edge))]):
            return edge
    return None


def _is_node(name: str) -> bool:
    stem = name.rstrip("0123456789")
    return stem != name and stem.endswith("Backward")


def _guard(entered: ast.expr) -> str:
    """Return the name of a guard's class; empty for other contexts."""
    called = entered.func if isinstance(entered, ast.Call) else entered
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name if name[:1].isupper() else ""


# -- events beside steps -----------------------------------------------------------------------------------------------


def _best(steps: list[Step], explained: Sequence[Sequence[int]]) -> list[int]:
    """Return the index of the step that explains each event on the best path through the steps; -1 if there are no
    steps.

    ``explained`` has the cost of each step for each event.
    """
    costs, beginning = [float(_NEVER)] * len(steps), 0.0
    passes = 2 if any(before > at for at, step in enumerate(steps) for before in step.before) else 1
    ways: list[list[int]] = []
    for own_costs in explained:
        reached = _reached(steps, costs, beginning, passes)
        beginning = float(_NEVER)
        costs = [cost + own for own, (cost, _) in zip(own_costs, reached, strict=True)]
        ways.append([before for _, before in reached])
    if not steps:
        return [-1] * len(explained)
    left = min((cost + _ASTRAY / 2, index) for index, cost in enumerate(costs))  # by an exception, from anywhere
    at = min(left, _reached(steps, costs, beginning, passes)[-1])[1]
    found = []
    for way in reversed(ways):
        found.append(at)
        at = way[at] if at >= 0 else -1
    return found[::-1]


def _reached(steps: list[Step], costs: list[float], beginning: float, passes: int) -> list[tuple[float, int]]:
    """Return, for each step, the lowest cost of reaching it next, and the last step on that path that explained an
    event. Loops, which lead back, need two ``passes``.
    """
    never = (float(_NEVER), -1)
    passed, reached = [never] * len(steps), [never] * len(steps)
    for _ in range(passes):
        for at, step in enumerate(steps):
            ways = [(beginning, -1) if p < 0 else min((costs[p], p), passed[p]) for p in step.before if p != at]
            if at in step.before:
                ways.append((costs[at], at))
            cost, last = reached[at] = min(ways, default=never)
            passed[at] = (cost + (_ASTRAY if step.operator else 0), last)
    return reached

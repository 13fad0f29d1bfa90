"""Runs of small programs on a real torch or the model, and the autograd state that Python can query.

Everything here uses only PyTorch's own Python interface, so the same code observes both. The parts that differ
(watching the dispatcher, entering the engine) are in ``dispatcher.py`` and in the tests of the model.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import io
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

from truth.programs import PRELUDE

FILE = "<program>"
"""The file name in the program's code."""

_RANDOM = re.compile(r"rand|normal_|uniform_|empty(?!\(0\))")
_NEW_PARAMETERS = re.compile(r"nn\.(Linear|Conv|Embedding|Bilinear|MultiheadAttention|Transformer|RNN|LSTM|GRU)")
_OVERWRITTEN = re.compile(r"fill_|copy_")
_LARGEST_USED = 1 << 60
"""The limit above which a sequence number is the maximum, which AccumulateGrad has."""

ONCE = (
    "UserWarning: The reduce argument of torch.scatter with Tensor src is deprecated",
    "UserWarning: index_reduce() is in beta",
    "UserWarning: torch.meshgrid: in an upcoming release",
    "UserWarning: torch.searchsorted(): ",
)
"""Warnings that are given once per process, by any program that comes first, so they are removed from records."""

State = list[Any] | dict[str, str]


def is_random(source: str) -> bool:
    """Return whether the values of a program may differ from run to run."""
    if _NEW_PARAMETERS.search(source) and not (_OVERWRITTEN.search(source) or "manual_seed(" in source):
        return True
    return _RANDOM.search(source) is not None


def in_new_thread(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function in a new thread. Sequence numbers are counted per thread, from 0.

    Programs search for "program" in the stack of anomaly mode. So no file that calls this with its own function may
    have that word in its name.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *args).result()


# -- running ------------------------------------------------------------------------------------------------------


class Run:
    """A run of a program: its variables and its end."""

    def __init__(self, torch: ModuleType, source: str) -> None:
        self.torch = torch
        self.source = source
        self.variables: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": self._import}}
        self.error: list[Any] | None = None
        """The type, the first line of the message, and the line of the program."""
        self.warnings: list[str] = []
        self.output = ""

    def _import(self, name: str, *args: Any) -> Any:
        """Import ``torch`` and its submodules from the torch of this run."""
        top, dot, rest = name.partition(".")
        if top != "torch":
            return builtins.__import__(name, *args)
        module = importlib.import_module(self.torch.__name__ + dot + rest)
        return module if args[2] else self.torch

    def execute(self, code: Any) -> None:
        """Run compiled code. An exception is stored, not raised."""
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                exec(code, self.variables)
            except Exception as error:
                self.error = [type(error).__name__, first_line(str(error)), raised_at(error)]
        given = [f"{w.category.__name__}: {first_line(str(w.message))}" for w in caught]
        self.warnings += [text for text in given if not text.startswith(ONCE)]
        self.output += printed.getvalue()

    def whole(self) -> None:
        """Run the whole program at once."""
        self.execute(compile(self.source, FILE, "exec"))

    def statements(self) -> Iterator[int]:
        """Run the program statement by statement, and yield the line of each one afterwards."""
        for statement in ast.parse(self.source).body:
            self.execute(compile(ast.Module([statement], []), FILE, "exec"))
            yield statement.lineno
            if self.error is not None:
                return

    @property
    def tensors(self) -> dict[str, Any]:
        """The variables that are tensors, in order of definition."""
        return {name: value for name, value in self.variables.items() if isinstance(value, self.torch.Tensor)}

    @property
    def end(self) -> dict[str, Any]:
        """The end of the run; values only if they are the same in every run."""
        known = not is_random(self.source)
        return {
            "values": {name: readable_value(tensor) for name, tensor in self.tensors.items()} if known else None,
            "grads": {name: encoded(grad) for name, grad in self._grads()} if known else None,
            "error": self.error,
            "warnings": self.warnings,
            "output": self.output,
        }

    def _grads(self) -> Iterator[tuple[str, Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns when the grad of a non-leaf is read
            for name, tensor in self.tensors.items():
                with contextlib.suppress(RuntimeError):  # a stale view must not be read
                    if tensor.grad is not None:
                        yield name, tensor.grad


def first_line(message: str) -> str:
    """The part of a message that is the same in all builds of a release."""
    return message.split("\n")[0].split(" (Triggered internally")[0]


def raised_at(error: BaseException) -> int:
    """The program's line at which an error was raised."""
    line, traceback = 0, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == FILE:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def evaluated(namespace: Any, text: str) -> list[str]:
    """The value or the error of an expression."""
    variables = {"torch": namespace}
    exec(PRELUDE, variables)
    try:
        return ["value", repr(eval(text, variables))]
    except Exception as error:
        return ["error", type(error).__name__, str(error)]


# -- autograd -----------------------------------------------------------------------------------------------------


def encoded(value: Any) -> Any:
    """A value as JSON: tensors with their data, anything unknown as text."""
    if hasattr(value, "grad_fn"):
        data = value.detach()
        shape, stride = list(data.shape), list(data.stride())
        return {"shape": shape, "stride": stride, "dtype": str(data.dtype), "data": _data(data)}
    if isinstance(value, (tuple, list)):
        return [encoded(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _data(tensor: Any) -> Any:
    """The elements, or PyTorch's error text if they cannot be read (zero tensors)."""
    try:
        return _numbers(tensor.tolist())
    except RuntimeError as error:
        return first_line(str(error))


def _numbers(value: Any) -> Any:
    """Complex numbers as pairs of numbers."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return [value.real, value.imag] if isinstance(value, complex) else value


def readable_value(tensor: Any) -> Any:
    """A tensor as JSON, or the first line of the error if it is a stale view that must not be read."""
    try:
        return encoded(tensor)
    except RuntimeError as error:
        return {"error": first_line(str(error))}


def autograd_state(tensor: Any) -> State:
    """The fields requires_grad, is_leaf, version, name of grad_fn, output_nr.

    Reading the grad_fn of a stale view makes a Node.
    """
    try:
        node = tensor.grad_fn
        version = None if tensor.is_inference() else tensor._version
        return [tensor.requires_grad, tensor.is_leaf, version, node and node.name(), tensor.output_nr]
    except RuntimeError as error:
        return {"error": first_line(str(error))}


def autograd_facts(run: Run) -> list[Any]:
    """Run a program statement by statement, and return the states that changed with each one."""
    facts: list[Any] = []
    last: dict[str, State] = {}
    for line in run.statements():
        states = {name: autograd_state(tensor) for name, tensor in run.tensors.items()}
        if changed := {name: state for name, state in states.items() if last.get(name) != state}:
            facts.append([line, changed])
        last = states
    return facts


def used_sequence_numbers(torch: ModuleType) -> int:
    """The number of sequence numbers that this thread has taken. It takes one more."""
    with torch.inference_mode(False), torch.enable_grad():
        number = (torch.ones(1, requires_grad=True) * 1).grad_fn._sequence_nr()
    return int(number)


class Graphs:
    """Recorder of every graph just before its backward, and of the order in which its Nodes then run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.noted: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def watching(self, roots: list[tuple[Any, int]]) -> Iterator[None]:
        """Record one backward from the given gradient edges."""
        nodes = preorder([node for node, _ in roots])
        index = {node: i for i, node in enumerate(nodes)}
        order: list[int] = []
        found = {
            "roots": [[index[node], input_nr] for node, input_nr in roots],
            "nodes": [self._described(node, index) for node in nodes],
            "order": order,
        }
        self.noted.append(found)
        hooks = [node.register_prehook(lambda _, i=i: order.append(i)) for node, i in index.items()]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            if not order:  # the engine refused to start
                self.noted = [graph for graph in self.noted if graph is not found]

    def _described(self, node: Any, index: dict[Any, int]) -> dict[str, Any]:
        number = node._sequence_nr()
        variable = getattr(node, "variable", None)
        names = [name for name, value in self._run.tensors.items() if value is variable]
        return {
            "name": node.name(),
            "sequence_nr": None if number > _LARGEST_USED else number,
            "topological_nr": longest_path(node, {}),
            "edges": [None if target is None else [index[target], nr] for target, nr in node.next_functions],
            "inputs": [[list(metadata.shape), str(metadata.dtype)] for metadata in node._input_metadata],
            "variable": names[0] if names else None,
            "saved": saved(node),
        }


def preorder(roots: list[Any]) -> list[Any]:
    """All reachable Nodes, in depth-first preorder along the edges."""
    found: dict[Any, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack += [target for target, _ in reversed(node.next_functions) if target is not None]
    return list(found)


def longest_path(node: Any, known: dict[Any, int]) -> int:
    """The topological number: the number of edges on the longest path to a Node without edges."""
    if node not in known:
        targets = [target for target, _ in node.next_functions if target is not None]
        known[node] = max((longest_path(target, known) + 1 for target in targets), default=0)
    return known[node]


_OPAQUE = ("MkldnnRnnLayerBackward0", "_saved_result3")
"""A saved tensor that only the library which wrote it can read."""


def saved(node: Any) -> dict[str, Any]:
    """The saved values of a Node by name; the error text if reading one raises."""
    found: dict[str, Any] = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
                found[name.removeprefix("_saved_")] = encoded(
                    list(value.shape) if (node.name(), name) == _OPAQUE and value is not None else value
                )
            except RuntimeError as error:
                found[name.removeprefix("_saved_")] = {"error": first_line(str(error))}
    return found

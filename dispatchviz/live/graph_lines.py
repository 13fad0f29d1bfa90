"""The lines of a graph that the compiler captured, read from its ``torch.fx.Graph`` without changing it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dispatchviz.core.record.graph_line import GraphLine, Part
from dispatchviz.running.call_sites import is_users_file

LONGEST = 200
"""The number of characters at which a call is cut."""

Names = Mapping[int, str]
"""The names of autograd Nodes by sequence number."""

NO_NAMES: Names = {}

ShownFile = Callable[[str], str]
"""A function from the path of a file to its name in the trace."""

_PARTS: dict[str | None, Part] = {"is_forward": "forward", "is_backward": "backward", "must_be_in_backward": "backward"}
"""The tags of ``torch/_functorch/_aot_autograd/graph_capture_wrappers.py``."""

_FRAME = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)


class GraphReader:
    """The reader of the graphs of one process."""

    def __init__(self, torch: Any, shown: ShownFile) -> None:
        self._torch, self._shown = torch, shown

    def lines(self, graph: Any, names: Names = NO_NAMES) -> tuple[GraphLine, ...]:
        """Return all lines of a graph. ``names`` are the Nodes that PyTorch made while it traced the graph."""
        return tuple([self._line(node, names) for node in graph.nodes])

    def _line(self, node: Any, names: Names) -> GraphLine:
        operator = self._operator(node)
        sequence_nr = node.meta.get("seq_nr", -1)
        name = names.get(sequence_nr, "")
        return GraphLine(
            node.name,
            node.op,
            self._code(node),
            "" if operator is None else str(operator._name),
            self._value(node.meta),
            *self._place(node.meta.get("stack_trace") or ""),
            _PARTS.get(node.meta.get("partitioner_tag"), ""),
            name,
            sequence_nr if name else -1,
            () if operator is None else tuple(picked_keys(operator)),
        )

    def _code(self, node: Any) -> str:
        """Return the call of a node as Python would write it, without its result."""
        arguments = ", ".join([str(one) for one in node.args] + [f"{name}={one}" for name, one in node.kwargs.items()])
        match node.op:
            case "placeholder" | "get_attr":
                text = str(node.target)
            case "output":
                text = f"return {node.args[0]}"
            case "call_method":
                this, *_ = node.args
                text = f"{this}.{node.target}({arguments.removeprefix(str(this)).removeprefix(', ')})"
            case _:
                text = f"{self._target(node.target)}({arguments})"
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

    def _target(self, target: Any) -> str:
        if isinstance(target, (str, self._torch._ops.OpOverload)):
            return str(target)
        module = str(getattr(target, "__module__", "") or "").removeprefix("_")
        name = getattr(target, "__name__", type(target).__name__)
        return f"{module}.{name}" if module and module != "builtins" else str(name)

    def _operator(self, node: Any) -> Any:
        """Return the operator of a node: its target, or the only traced overload of the target's name."""
        if isinstance(node.target, self._torch._ops.OpOverload):
            return node.target
        if node.op not in ("call_function", "call_method"):
            return None
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        packet = vars(self._torch.ops.aten).get(name)
        traced = [one for one in self._overloads(packet) if one._dispatch_cache]
        return traced[0] if len(traced) == 1 else None

    def _overloads(self, packet: Any) -> Iterable[Any]:
        kind = self._torch._ops.OpOverload
        return () if packet is None else [one for one in vars(packet).values() if isinstance(one, kind)]

    def _value(self, meta: Mapping[str, Any]) -> str:
        value = meta.get("val", meta.get("example_value"))
        if not isinstance(value, self._torch.Tensor):
            return ""
        sizes = ", ".join(map(str, value.size()))
        return f"[{sizes}] {str(value.dtype).removeprefix('torch.')}"

    def _place(self, stack: str) -> tuple[str, int]:
        """Return the innermost place in the program of a stack trace."""
        found = [(file, int(line)) for file, line in _FRAME.findall(stack) if is_users_file(file)]
        return (self._shown(found[-1][0]), found[-1][1]) if found else ("", 0)


def picked_keys(operator: Any) -> Iterator[tuple[str, str]]:
    """Yield the keys that the Python dispatcher was asked for, each with the kernel that it picked.

    The answers are in ``OpOverload._dispatch_cache`` (``torch/_ops.py``), in the order of the first questions.
    """
    for key, picked in list(operator._dispatch_cache.items()):
        yield key.name, picked.name if hasattr(picked, "name") else _function(picked)


def _function(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{getattr(function, '__module__', '')}.{name}"


def state_of(nodes: Iterable[Any]) -> Iterator[str]:
    """Yield the inputs of a graph of compiled autograd that some of its lines use: ``inputs[1]``, ``sizes[0]``.

    ``validate_outputs`` is left out, because it checks the result of the Node and is no part of its work.
    """
    lines = [node for node in nodes if "validate_outputs" not in node.name]
    inputs = [text for node in lines for given in node.all_input_nodes if (text := _input(given))]
    yield from dict.fromkeys(inputs)


def _input(node: Any) -> str:
    """Return the input that a line takes from the lists that compiled autograd collects; empty for any other line."""
    while node.op == "call_function" and node.all_input_nodes:
        first = node.all_input_nodes[0]
        if first.op == "placeholder" and len(node.args) == 2:
            return f"{first.target}[{node.args[1]}]"
        if node.target.__name__ != "unwrap_maybe_dynamic_int":
            return ""
        node = first
    return ""

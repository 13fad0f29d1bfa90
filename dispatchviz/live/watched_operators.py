"""What is known of an operator whose kernels are watched: where its tensors are among the arguments, and what its cells
hold according to the installed build's own registrations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.core.table.registry import Registry
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.registration import Registration, filled_cells
from dispatchviz.live.wrapped_numbers import KINDS

_TENSOR = ("Tensor", "Optional[Tensor]")
_TENSORS = ("List[Tensor]", "Optional[List[Tensor]]", "List[Optional[Tensor]]")

IN_PLACE_VIEWS = frozenset({"aten::as_strided_", "aten::squeeze_", "aten::t_", "aten::transpose_", "aten::unsqueeze_"})
"""In-place operators, without overloads, whose autograd kernel sets a history and rebases none (``emit_history`` in
``tools/autograd/gen_variable_type.py``: those that are named as a view is)."""

FIRST = 1
"""Position of a kernel's first argument: before it comes the key set."""


class WatchedOperator:
    """One operator, by its full name with overload."""

    def __init__(self, name: str, schema: Any, entry: Callable[[], OperatorEntry]) -> None:
        self.name = name
        self._entry = entry
        self._cells: dict[str, Cell] = {}
        arguments = [(argument.name, str(argument.type)) for argument in schema.arguments]
        self.numbers = frozenset(i for i, (_, kind) in enumerate(arguments, FIRST) if kind in _TENSOR)
        """Positions of parameters that may be given a wrapped number."""
        kinds = enumerate(arguments, FIRST)
        self.tensors = tuple((place, name, kind in _TENSORS) for place, (name, kind) in kinds if _has_tensors(kind))
        """Position, name, whether it is a list; of each parameter whose keys count."""
        self.one_tensor = [str(returned.type) for returned in schema.returns] == ["Tensor"]
        self.returns = tuple([returned.name for returned in schema.returns])
        """Their names in the schema; empty of those that have none."""
        generators = [(i, n) for i, (n, kind) in enumerate(arguments, FIRST) if kind == "Optional[Generator]"]
        self.generator = generators[0] if generators else None
        """Position and name of the parameter for a random generator: its key counts."""
        returns_it = any(one.alias_info is not None and one.alias_info.is_write for one in schema.returns)
        self.rebases = returns_it and name.partition(".")[0] not in IN_PLACE_VIEWS
        """It returns what it writes to, with a history that goes on from the one it had (``modifies_arguments`` in
        torchgen: an operator that only updates ``running_mean`` beside its results rebases nothing)."""

    def cell(self, key: str) -> Cell:
        """What its table has for a key."""
        known = self._cells.get(key)
        if known is None:
            entry = self._entry()
            known = self._cells[key] = entry.table[entry.cell_of(DispatchKey[key])]
        return known

    def forget(self) -> None:
        """Its registrations change."""
        self._cells.clear()

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Any]:
        """The tensors among the key set and the arguments of a call."""
        many = len(args)
        for place, name, is_list in self.tensors:
            value = args[place] if place < many else kwargs.get(name)
            yield from (value or ()) if is_list else (value,)

    def generator_among(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The random generator among the arguments of a call; None without one."""
        if self.generator is None:
            return None
        place, name = self.generator
        return args[place] if place < len(args) else kwargs.get(name)

    def with_tensors(self, args: tuple[Any, ...], wrapped: Callable[[complex], Any]) -> tuple[Any, ...]:
        """The key set and the arguments, with tensors for numbers where a tensor is expected."""
        numbers = self.numbers
        for place, value in enumerate(args):
            if type(value) in KINDS and place in numbers:
                return tuple([wrapped(a) if i in numbers and type(a) in KINDS else a for i, a in enumerate(args)])
        return args


class WatchedCell:
    """A cell with a kernel of ours in front."""

    __slots__ = (
        "calls_again",
        "is_autograd",
        "is_in_front",
        "is_python",
        "is_select",
        "key",
        "name",
        "operator",
        "operators",
    )

    def __init__(self, operators: WatchedOperators, name: str, key: str, is_python: bool) -> None:
        self.is_python = is_python
        """The kernel behind ours is a function of Python's, which is handed numbers as they are."""
        self.operators, self.name, self.key = operators, name, key
        self.calls_again = key in CALLING_AGAIN
        self.is_autograd = key[:8] == "Autograd"
        self.is_select = key == "BackendSelect"
        self.is_in_front = key == "FuncTorchDynamicLayerFrontMode" and not is_python

    operator: WatchedOperator


class UnmetCell(WatchedCell):
    """One whose operator was never asked for, as that of most cells never is. Once it is, this is a ``WatchedCell``:
    what a class with a ``__getattr__`` has takes long to reach."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """The operator."""
        if name != "operator":
            raise AttributeError(name)
        self.operator = self.operators.of(self.name)
        self.__class__ = WatchedCell  # type: ignore[assignment]  # both have the same slots
        return self.operator


CALLING_AGAIN = frozenset(
    (
        *("FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode", "FuncTorchBatched"),
        *("FuncTorchDynamicLayerBackMode", "Functionalize", "AutocastCPU", "AutocastCUDA", "Python"),
    )
)
"""Kernels there never redispatch: whatever they do is a call. At its own key any kernel calls again, as forward
formulas do."""


class WatchedOperators:
    """The operators of a process, each made when it is first watched."""

    def __init__(self, c: Any) -> None:
        self._c = c
        self._made: dict[str, WatchedOperator] = {}
        self._build: InstalledPyTorch | None = None
        self._registry: Registry | None = None

    def read(self, build: InstalledPyTorch) -> None:
        """Read all registrations, before any cell is watched."""
        build.read_all()
        self._build, self._registry = build, build.registry()

    def called(self) -> list[str]:
        """Those whose kernels were seen to run, sorted."""
        return sorted(self._made)

    # -- registrations that change ------------------------------------------------------------------------------------

    def forget(self, name: str) -> None:
        """The registrations of an operator have changed: they are read now, while no kernel of ours is among them."""
        assert self._build is not None
        self._made.pop(name, None)
        self._build.forget(name)

    def is_defined(self, name: str) -> bool:
        """Return whether there is such an operator."""
        return self._registry is not None and name in self._registry.operators

    def registered(self, name: str) -> Iterator[tuple[Registration, str]]:
        """Its kernels with their names, as they were read."""
        assert self._build is not None
        return self._build.named(name)

    def definition(self, name: str) -> tuple[str, int, int]:
        """Its schema as PyTorch prints it; how many cells fallbacks fill, and how many its kernels."""
        assert self._build is not None
        filled = filled_cells(
            self._c._dispatch_dump_table(name)
        ).values()  # no kernel of ours is among its registrations
        fallbacks = sum(reason == FALLBACK for _, reason, _ in filled)
        return self._build.definition(name).schema, fallbacks, len(filled) - fallbacks

    def of(self, name: str) -> WatchedOperator:
        """By full name."""
        known = self._made.get(name)
        if known is None:
            schema = self._c._get_schema(*name.partition(".")[::2])
            known = self._made[name] = WatchedOperator(name, schema, lambda: self._find(name))
        return known

    def _find(self, name: str) -> OperatorEntry:
        """Its schema may have types that ours have not."""
        assert self._registry is not None
        return self._registry.operators[name]


def _has_tensors(kind: str) -> bool:
    return kind in _TENSOR or kind in _TENSORS

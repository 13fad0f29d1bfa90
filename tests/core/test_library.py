"""Libraries: the allowed registrations, PyTorch's text for refused ones, and how they are undone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dispatchviz.core.keys.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.schema.function_schema import SchemaError
from dispatchviz.core.seam import recorder
from dispatchviz.core.table.library import Library, Registry
from tests.core.experiments import kernel, stored

K = DispatchKey
FOO = "foo(Tensor self) -> Tensor"


@pytest.fixture
def registry() -> Registry:
    return Registry()


def library(registry: Registry, kind: str, namespace: str = "ns", key: DispatchKey | None = None) -> Library:
    return Library(kind, namespace, key, registry, where="a.py:1")


# -- refusals: their texts are compared with PyTorch's in test_replay.py -----------------------------------------------


def test_a_library_of_the_wildcard_namespace_implements_nothing(registry: Registry) -> None:
    everywhere = library(registry, "IMPL", "_")
    with pytest.raises(RuntimeError, match=r"the wildcard namespace _ implements no operators"):
        everywhere.impl("foo", kernel("k"), K.CPU)
    with pytest.raises(RuntimeError, match=r"enclosing TORCH_LIBRARY_IMPL block \(std::nullopt\)"):
        everywhere.impl("ns::foo", kernel("k"), K.CPU)
    assert list(registry.names()) == []


def test_a_refused_definition_leaves_nothing_behind(registry: Registry) -> None:
    with pytest.raises(SchemaError):
        library(registry, "DEF").def_("foo(Tensor self -> Tensor")
    with pytest.raises(RuntimeError):
        library(registry, "FRAGMENT").def_("other::foo() -> ()")
    assert registry.operators == {}


# -- definitions ------------------------------------------------------------------------------------------------------


def test_overloads_are_different_operators(registry: Registry) -> None:
    ours = library(registry, "DEF")
    first, second = ours.def_(FOO), ours.def_("ns::foo.other(Tensor self, int n) -> Tensor")
    assert list(registry.operators) == ["ns::foo", "ns::foo.other"]
    assert registry.find("ns::foo") is first
    assert registry.find("ns::foo.other") is second


def test_library_has_the_place_of_its_creation(registry: Registry) -> None:
    made = Library("DEF", "ns", registry=registry)
    path, _, line = made.where.rpartition(":")
    assert path == __file__
    assert int(line) > 0


# -- fallbacks --------------------------------------------------------------------------------------------------------


def test_the_fallback_of_out_of_tree_backends_may_be_replaced(registry: Registry) -> None:
    fallbacks = library(registry, "IMPL", "_", K.AutogradPrivateUse1)
    fallbacks.fallback(kernel("first"))
    fallbacks.fallback(kernel("second"))
    assert registry.fallbacks[K.AutogradPrivateUse1].name == "second"


# -- undoing ----------------------------------------------------------------------------------------------------------


def test_resetting_a_library_undoes_exactly_its_registrations(registry: Registry) -> None:
    definitions = library(registry, "DEF")
    op = definitions.def_(FOO)
    cpu, cuda = library(registry, "IMPL", key=K.CPU), library(registry, "IMPL", key=K.CUDA)
    cpu.impl("foo", kernel("cpu"))
    cuda.impl("foo", kernel("cuda"))
    cpu.reset()
    assert (stored(op, K.CPU), stored(op, K.CUDA)) == (("missing", None), ("kernel", "cuda"))
    definitions.reset()
    assert registry.dangling() == ["ns::foo"]
    cuda.reset()
    assert registry.operators == {}
    library(registry, "DEF")  # the namespace is free again


# -- events -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def listening() -> Iterator[Recorder]:
    listener = Recorder()
    recorder.start(listener)
    yield listener
    recorder.stop(listener)


def test_registrations_are_recorded(registry: Registry, listening: Recorder) -> None:
    ours = library(registry, "DEF")
    ours.def_(FOO)
    ours.impl("foo", kernel("composite"))
    ours.impl("foo", kernel("cpu"), K.CPU)
    ours.reset()
    recorded = [event for event in listening.events if isinstance(event, ev.KernelRegistered | ev.OperatorDefined)]
    assert [(type(event).__name__, *_fields(event)) for event in recorded] == [
        ("OperatorDefined", "ns::foo", "ns::foo(Tensor self) -> Tensor", 0, 0),
        ("KernelRegistered", "ns::foo", "CompositeImplicitAutograd", "composite", False),
        ("KernelRegistered", "ns::foo", "CPU", "cpu", False),
        ("KernelRegistered", "ns::foo", "CompositeImplicitAutograd", "composite", True),
        ("KernelRegistered", "ns::foo", "CPU", "cpu", True),
    ]


def test_changed_entries_are_recorded(registry: Registry, listening: Recorder) -> None:
    ours = library(registry, "DEF")
    ours.def_(FOO, kernel("composite"))
    ours.impl("foo", kernel("cpu"), K.CPU)
    cells = [event.cells for event in listening.events if isinstance(event, ev.CellsRecomputed)]
    assert len(cells[0]) == 1 + len(ALIAS_MEMBERS[K.CompositeImplicitAutograd])
    assert cells[1:] == [("CPU", "AutogradCPU")]


def test_registration_is_recorded_before_the_changed_entries(registry: Registry, listening: Recorder) -> None:
    ours = library(registry, "DEF")
    ours.def_(FOO)
    ours.impl("foo", kernel("cpu"), K.CPU)
    ours.reset()
    library(registry, "IMPL", "_").fallback(kernel("k"), K.Tracer)
    assert [type(event).__name__ for event in listening.events] == [
        *("OperatorDefined", "KernelRegistered", "CellsRecomputed", "KernelRegistered", "CellsRecomputed"),
        "KernelRegistered",
    ]


def test_entries_filled_by_a_definition_are_recorded(registry: Registry, listening: Recorder) -> None:
    library(registry, "IMPL", "_").fallback(kernel("k"), K.Tracer)
    library(registry, "IMPL").impl("foo", kernel("cpu"), K.CPU)
    library(registry, "DEF").def_(FOO)
    recorded = next(event for event in listening.events if isinstance(event, ev.OperatorDefined))
    assert (recorded.by_fallbacks, recorded.by_kernels) == (1, 1)


def test_a_fallback_is_recorded_without_an_operator(registry: Registry, listening: Recorder) -> None:
    library(registry, "IMPL", "_").fallback(kernel("k"), K.Tracer)
    assert [_fields(event) for event in listening.events] == [("", "Tracer", "k", False)]


def _fields(event: ev.AnyEvent) -> tuple[Any, ...]:
    return tuple(getattr(event, name) for name in event.__struct_fields__[2:])

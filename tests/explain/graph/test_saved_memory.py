"""The memory of saved tensors is as big as the machine's own."""

from __future__ import annotations

import pytest

from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.saved_memory import item_size, memories, plain_bytes
from tests.explain.programs import traced

PROGRAM = """
import torch
whole = torch.zeros(4, 6, requires_grad=True)
part = whole[1:3, 2]
turned = whole.t()
double = whole * 2.0
wide = torch.zeros(3, dtype=torch.float64)
empty = torch.empty(0, 5)
expanded = torch.ones(2, 1).expand(2, 1000)
print([each.untyped_storage().nbytes() for each in (whole, part, turned, double, wide, empty, expanded)])
"""


def test_storages_are_as_big_as_the_machines() -> None:
    trace = traced(PROGRAM)
    numbers = [event.tensor for event in trace if isinstance(event, ev.NameBound)]
    printed = next(event.text for event in trace if isinstance(event, ev.Printed))
    assert printed == f"{[sum(memories(trace, [number]).values()) for number in numbers]}\n"
    assert sum(memories(trace, numbers).values()) == 96 + 96 + 24 + 8


DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64", "complex128")


@pytest.mark.parametrize("name", DTYPES)
def test_item_sizes(name: str) -> None:
    assert item_size(f"torch.{name}") == getattr(torch, name).itemsize


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (3 << 40, "3.0 TiB")],
)
def test_bytes_in_words(count: int, text: str) -> None:
    assert plain_bytes(count) == text

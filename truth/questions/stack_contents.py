"""Calls whose stack contents PyTorch and the model report: statements by name, run after ``BEFORE``.

A statement is one call of an operator or several. The stacks of inner calls are not reported.
"""

from __future__ import annotations

BEFORE = """
import torch
from torch.library import Library
lib = Library("mine", "DEF")
lib.define("numbers(float a, int b, bool c, complex d, Scalar e, Scalar f, Scalar g, Scalar h) -> float")
lib.define("options(Tensor? a, int[]? b, float? c, ScalarType? d, Layout? e, MemoryFormat? f) -> Tensor?")
lib.define("lists(Tensor[] a, Tensor?[] b, float[] c, bool[3] d, str[] e, SymInt[] f) -> Tensor[]")
lib.define("two(str a, Device b, SymInt c) -> (str, int)")
lib.define("nothing() -> ()")
lib.define("undefined(Tensor a) -> Tensor")
lib.define("rare((int, str) a, Dict(str, int) b, SymBool c, Stream d, Generator? e) -> ()")
lib.define("anything(Any a, Any b, Any c, Any d, Any e) -> ()")
lib.impl("numbers", lambda *all: 2.5, "CompositeExplicitAutograd")
lib.impl("options", lambda *all: None, "CompositeExplicitAutograd")
lib.impl("lists", lambda a, *rest: list(a), "CompositeExplicitAutograd")
lib.impl("two", lambda *all: ("made", 7), "CompositeExplicitAutograd")
lib.impl("nothing", lambda *all: None, "CompositeExplicitAutograd")
lib.impl("rare", lambda *all: None, "CompositeExplicitAutograd")
lib.impl("anything", lambda *all: None, "CompositeExplicitAutograd")
lib.impl("undefined", lambda a: None, "CompositeExplicitAutograd")
mine = torch.ops.mine
x, w = torch.ones(2), torch.ones(2, 2)
i = torch.tensor([0])
"""

CALLS = {
    "a wrapped number": "x + 2",
    "alpha": "torch.add(x, x, alpha=2.5)",
    "a number for a Scalar": "torch.pow(2, x)",
    "a list of dimensions": "torch.sum(x, dim=[0])",
    "a dtype": "torch.sum(x, dtype=torch.float64)",
    "no list": "torch.ops.aten.sum.dim_IntList(x, None)",
    "a factory": "torch.empty(3, dtype=torch.float32)",
    "a factory with all options": "torch.ones(2, 3, layout=torch.strided, device='cpu', pin_memory=False)",
    "a memory format": "x.clone(memory_format=torch.preserve_format)",
    "a list of tensors": "torch.cat([x, x])",
    "several results": "torch.max(w, 0)",
    "a list of results": "torch.split(x, 1)",
    "indices": "w[i]",
    "indices with a gap": "w[:, i]",
    "in place": "x.mul_(3.0)",
    "into out": "torch.add(x, x, out=torch.empty(2))",
    "two numbers": "torch.clamp(x, 0, 1.5)",
    "a truth": "torch.sort(x, descending=True)",
    "a string": "torch.nn.functional.gelu(x, approximate='tanh')",
    "a mode": "torch.div(x, x, rounding_mode='floor')",
    "a generator": "torch.rand(2, generator=torch.Generator())",
    "a layer": "torch.nn.functional.linear(x, w)",
    "a view": "w.view(4)",
    "a slice": "x[0:1]",
    "all kinds of numbers": "mine.numbers(1, 2, True, 3, 4, 5.5, False, 2j)",
    "a large number": "mine.numbers(0.1, -3, False, 1j, 2**63, 2**63 - 1, True, 0)",
    "options not given": "mine.options(None, None, None, None, None, None)",
    "options given": "mine.options(x, [1, 2], 3, torch.bool, torch.strided, torch.channels_last)",
    "all kinds of lists": "mine.lists([x, w], [x, None], [1, 2.5], [True, False, True], ['a', 'b'], [3, 4])",
    "empty lists": "mine.lists([], [], [], [True, True, True], [], [])",
    "a string, a device, a size": "mine.two('text', torch.device('cpu'), 5)",
    "nothing at all": "mine.nothing()",
    "rare types": "mine.rare((1, 'x'), {'k': 2, 'l': 3}, True, None, torch.Generator())",
    "anything": "mine.anything(x, 3, [1, 2], 2.5, 'text')",
    "anything else": "mine.anything(None, True, (1, 'x'), {'k': 2}, 1j)",
    "memory": "torch.ones(2).set_(w.untyped_storage())",
    "memory from torch.ops": "torch.ops.aten.set_.source_Storage(x, w.untyped_storage())",
    "an undefined tensor": "mine.undefined(None)",
}

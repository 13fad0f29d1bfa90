"""The facts in the glossary: a program for each term asserts them, on the model and on an installed PyTorch."""

from __future__ import annotations

import textwrap

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.glossary import TERMS
from tests.explain.diagnosis.cases import traced

BEGIN = "import torch\nC = torch._C\n"

LIBRARY = 'lib = torch.library.Library("glossary_{name}", "DEF")\nlib.define("f(Tensor x) -> Tensor")\n'

FACTS = {
    "boxed kernel": """
        def fallbacks(operator):
            lines = C._dispatch_dump_table(operator).splitlines()
            return {line for line in lines if line.startswith("Python:") and "[backend fallback]" in line}
        assert len(fallbacks("aten::add.Tensor")) == 1
        assert fallbacks("aten::add.Tensor") == fallbacks("aten::exp") == fallbacks("aten::addmm")
        """,
    "dispatch key": """
        keys = C._dispatch_keys(torch.ones(2))
        assert keys.has(C.DispatchKey.CPU) and keys.has(C.DispatchKey.AutogradCPU)
        assert (C.DispatchKeySet(C.DispatchKey.CPU) | C.DispatchKeySet(C.DispatchKey.AutogradCPU)
               ).highestPriorityTypeId() == C.DispatchKey.AutogradCPU
        """,
    "dispatch table": """
        before = C._dispatch_dump_table("glossary_table::f")
        lib.impl("f", lambda x: x + 1, "CPU")
        assert C._dispatch_dump_table("glossary_table::f") != before
        assert C._dispatch_has_computed_kernel_for_dispatch_key("glossary_table::f", "CPU")
        assert not C._dispatch_has_computed_kernel_for_dispatch_key("glossary_table::f", "CUDA")
        """,
    "fallthrough": """
        lib.impl("f", torch.library.fallthrough_kernel, "AutogradCPU")
        lib.impl("f", lambda x: x + 1, "CPU")
        assert C._dispatch_keys(torch.ones(2)).has(C.DispatchKey.AutogradCPU)
        assert torch.ops.glossary_fallthrough.f(torch.ones(1)).item() == 2
        """,
    "guard": """
        x = torch.ones(2, requires_grad=True)
        outside = C._dispatch_tls_local_exclude_set().raw_repr()
        with C._AutoDispatchBelowAutograd():
            assert C._dispatch_tls_local_exclude_set().raw_repr() & ~outside
            below = x * 2
        assert C._dispatch_tls_local_exclude_set().raw_repr() == outside
        assert below.grad_fn is None and (x * 2).grad_fn is not None
        """,
    "kernel": """
        calls = []
        def below(x):
            calls.append("CPU")
            return x + 1
        def above(keys, x):
            calls.append("AutogradCPU")
            with C._AutoDispatchBelowAutograd():
                return torch.ops.glossary_kernel.f(x)
        lib.impl("f", below, "CPU")
        lib.impl("f", above, "AutogradCPU", with_keyset=True)
        torch.ops.glossary_kernel.f(torch.ones(1))
        assert calls == ["AutogradCPU", "CPU"]
        """,
    "key set": """
        x = torch.ones(2)
        seen = []
        def kernel(keys, x):
            seen.append(keys)
            return x.clone()
        lib.impl("f", kernel, "CPU", with_keyset=True)
        lib.impl("f", kernel, "AutogradCPU", with_keyset=True)
        torch.ops.glossary_set.f(x)
        with C._AutoDispatchBelowAutograd():
            torch.ops.glossary_set.f(x)
        tops = [keys.highestPriorityTypeId() for keys in seen]
        assert tops == [C.DispatchKey.AutogradCPU, C.DispatchKey.CPU]
        assert seen[0].raw_repr() < 2**64
        """,
    "leaf": """
        x, y = torch.ones(2, requires_grad=True), torch.ones(2)
        z = x * y
        z.sum().backward()
        assert x.is_leaf and y.is_leaf and not z.is_leaf
        assert x.grad_fn is None and y.grad_fn is None and z.grad_fn is not None
        assert x.grad is not None and y.grad is None
        """,
    "Node": """
        x, y = torch.ones(2, requires_grad=True), torch.ones(2)
        z = x * y
        node = z.grad_fn
        assert node.name() == "MulBackward0" and len(node.next_functions) == 2
        assert node._saved_other is y
        assert (node(torch.ones(2))[0] == y).all()
        """,
    "redispatch": """
        seen = []
        def above(keys, x):
            seen.append(keys.highestPriorityTypeId())
            return torch.ops.glossary_redispatch.f.default.redispatch(keys & C._after_autograd_keyset, x)
        def below(keys, x):
            seen.append(keys.highestPriorityTypeId())
            return x.clone()
        lib.impl("f", above, "AutogradCPU", with_keyset=True)
        lib.impl("f", below, "CPU", with_keyset=True)
        torch.ops.glossary_redispatch.f(torch.ones(1))
        assert seen[0] == C.DispatchKey.AutogradCPU and len(seen) == 2 and seen[1] != seen[0]
        """,
    "saved tensor": """
        x = torch.ones(2, requires_grad=True)
        y = torch.exp(x)
        assert y.grad_fn._saved_result._version == 0
        y.add_(1)
        try:
            y.sum().backward()
        except RuntimeError as error:
            assert "is at version 1; expected version 0" in str(error)
        else:
            raise AssertionError
        """,
    "sequence number": """
        x = torch.ones(2, requires_grad=True)
        first, second = x * 2, x * 3
        assert first.grad_fn._sequence_nr() < second.grad_fn._sequence_nr()
        ran = []
        first.grad_fn.register_prehook(lambda grads: ran.append("first"))
        second.grad_fn.register_prehook(lambda grads: ran.append("second"))
        (first + second).sum().backward()
        assert ran == ["second", "first"]
        """,
    "version": """
        x = torch.ones(4)
        view, data = x[:2], x.data
        x.add_(1)
        assert x._version == view._version == 1 and data._version == 0
        view.mul_(2)
        assert x._version == 2
        data.add_(1)
        assert x._version == 2 and data._version == 1
        """,
}
"""A program for each term that asserts its meaning."""

NAMES = {"dispatch table": "table", "key set": "set"}


def program(term: str) -> str:
    """The whole program of a term; one with a library of its own has that first."""
    body = textwrap.dedent(FACTS[term]).strip()
    library = LIBRARY.format(name=NAMES.get(term, term)) if "lib.impl" in body else ""
    return BEGIN + library + body


def test_each_term_has_a_program() -> None:
    assert set(FACTS) == {term.name for term in TERMS}


@pytest.mark.parametrize("term", FACTS)
def test_model_agrees_with_the_glossary(term: str) -> None:
    last = traced(program(term))[-1]
    assert not isinstance(last, ev.ProgramRaised), last


@pytest.mark.torch
@pytest.mark.parametrize("term", FACTS)
def test_an_installed_pytorch(term: str) -> None:
    """Record nothing, because the recorder's kernels would be in the dispatch table."""
    exec(compile(program(term), term, "exec"), {})

"""Each assertion holds where it should. Where it should not, it fails with the step and a helpful text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.events import (
    BackwardStarted,
    Dispatched,
    HistorySet,
    HookRan,
    KernelEntered,
    KernelRegistered,
    NodeCreated,
    NodeStarted,
)
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing import (
    Pattern,
    accumulated,
    assert_at_most,
    assert_count,
    assert_kernel_ran,
    assert_never,
    assert_same,
    assert_sequence,
    assert_subsequence,
    call,
    event,
    hook_ran,
    kernel,
    node_created,
    node_ran,
    redispatch,
)
from dispatchviz.testing.existing_names import NODE_MODULES
from tests.explain.founding import founding
from tests.steps import step

ADD = "aten::add.Tensor"
TRACE = founding()
CALLED, PASSED_ON = step(TRACE, call(ADD)), step(TRACE, redispatch(ADD))


def _fails(check: object, *args: object, **kwargs: object) -> str:
    assert callable(check)
    with pytest.raises(AssertionError) as caught:
        check(TRACE, *args, **kwargs)
    return str(caught.value)


def test_a_sequence_is_all_events_of_its_kinds_in_order() -> None:
    assert_sequence(TRACE, [call(ADD, "AutogradCUDA"), redispatch(ADD, "CUDA")])
    assert_sequence(TRACE, [node_ran(name) for name in ("SumBackward0", "AddBackward0", ...)])


@pytest.mark.parametrize("name", ["AccumulateGrad", "torch::autograd::AccumulateGrad"])
def test_a_node_has_its_name_with_and_without_namespaces(name: str) -> None:
    assert_count(TRACE, node_ran(name), 1)
    with pytest.raises(AssertionError):
        assert_never(TRACE, node_ran(name))
    assert_never(TRACE, node_ran("CopySlices"))


def test_a_sequence_that_differs_says_where_first() -> None:
    assert _fails(assert_sequence, [call(ADD, "AutogradCUDA"), redispatch(ADD, "CPU")]) == (
        f"differs first at event 1 (step {PASSED_ON}):\n"
        "  expected  redispatch('aten::add.Tensor', 'CPU')\n"
        "  got       redispatch aten::add.Tensor → CUDA\n"
        f"    {CALLED:>4} call aten::add.Tensor → AutogradCUDA\n"
        f"  > {PASSED_ON:>4} redispatch aten::add.Tensor → CUDA"
    )


def test_a_sequence_may_be_too_long_or_too_short() -> None:
    says = f"differs first at event 1 (step {PASSED_ON}):\n  expected  nothing more"
    assert says in _fails(assert_sequence, [call(ADD)])
    ends = _fails(assert_sequence, [call(), redispatch(), redispatch("aten::sum")])
    assert ends.startswith("ends too soon: expected redispatch('aten::sum') after\n")


def test_a_subsequence_may_have_others_between() -> None:
    assert_subsequence(TRACE, [call(ADD), kernel(under="CUDA"), event(BackwardStarted), node_ran("AddBackward0")])
    says = _fails(assert_subsequence, [redispatch(ADD), call(ADD)])
    assert f"pattern 1 of 2, call('aten::add.Tensor'), does not happen after step {PASSED_ON}" in says


def test_never_and_count_compare_the_number_of_events() -> None:
    assert_never(TRACE, redispatch(key="Meta"))
    assert_count(TRACE, event(NodeCreated), 3)
    says = _fails(assert_count, node_ran(), 2)
    assert says.startswith("node_ran() happens 3 times, expected twice\n")
    assert f"{step(TRACE, node_ran(), 2)} run AccumulateGrad (x)" in says
    says = _fails(assert_never, node_created("AddBackward0"))
    assert says.startswith("node_created('AddBackward0') happens once")


def test_a_kernel_under_a_key() -> None:
    assert_kernel_ran(TRACE, "VariableType::add_Tensor", under="AutogradCUDA")
    says = _fails(assert_kernel_ran, "VariableType::add_Tensor", under="CUDA")
    assert says == (
        "VariableType::add_Tensor did not run under CUDA\n"
        "  it ran under: AutogradCUDA\n"
        "  CUDA ran: wrapper_CUDA_add_Tensor"
    )


def test_within_looks_at_one_part() -> None:
    assert_never(TRACE, event(Dispatched), within=event(BackwardStarted))
    assert_sequence(TRACE, [redispatch(ADD)], within=event(KernelEntered, kernel="VariableType::add_Tensor"))
    assert "so nothing happens within it" in _fails(assert_never, call(), within=call("aten::mul.Tensor"))


def test_same_compares_traces_and_files(tmp_path: Path) -> None:
    assert_same(TRACE, founding())
    TRACE.save(tmp_path / "golden.jsonl")
    assert_same(TRACE, tmp_path / "golden.jsonl")
    assert "create it with trace.save(" in _fails(assert_same, tmp_path / "none.jsonl")
    cut = Trace(TRACE.header, TRACE.events[:3])
    assert _fails(assert_same, cut) == f"the same up to step 2, but there are {len(TRACE)} steps; expected 3"
    other = Trace(TRACE.header, [*TRACE.events[:7], TRACE.events[8], *TRACE.events[8:]])
    assert "differs first at event 7 (step 7)" in _fails(assert_same, other)


def test_a_field_may_be_a_value_a_condition_or_anything() -> None:
    assert_count(TRACE, event(NodeStarted, sequence_nr=lambda number: number < 2, name=...), 2)
    with pytest.raises(TypeError, match="HistorySet has no field 'nodes'; it has seq, parent, tensor, node, output_nr"):
        event(HistorySet, nodes=1)


def test_a_pattern_is_shown_as_it_was_written() -> None:
    def below_two(number: int) -> bool:
        return number < 2

    assert [
        repr(pattern)
        for pattern in (
            call(),
            call(key="CPU"),
            kernel(..., under="CPU"),
            node_ran("AddBackward0"),
            event(NodeStarted, sequence_nr=below_two, name=...),
        )
    ] == [
        "call()",
        "call(..., 'CPU')",
        "kernel(under='CPU')",
        "node_ran('AddBackward0')",
        "event(NodeStarted, sequence_nr=below_two)",
    ]


def test_a_field_may_be_called_kind() -> None:
    """A field may have the name of the parameter ``kind``."""
    assert_never(TRACE, event(HookRan, kind="pre hook"))
    assert repr(event(HookRan, kind="pre hook")) == "event(HookRan, kind='pre hook')"


def test_boxed_calls_are_calls() -> None:
    """All calls through torch.ops are boxed, and those of a library's own operators."""
    with torch.library._scoped_library("boxes", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        with dispatchviz.record() as trace:
            torch.ops.boxes.twice(torch.ops.aten.add(torch.ones(2), torch.ones(2)))
    assert_subsequence(trace, [call("aten::add.Tensor"), call("boxes::twice"), call("aten::mul.Tensor")])
    assert {event.how for event in trace if isinstance(event, Dispatched)} >= {"call", "callBoxed"}


@pytest.mark.parametrize(("pattern", "says"), [
    (call("aten::adx.Tensor"), "there is no operator 'aten::adx.Tensor'; did you mean aten::add.Tensor"),
    (call("add"), "there is no operator 'add'"),
    (redispatch(key="AutogradCDUA"), "there is no key 'AutogradCDUA'; did you mean AutogradCUDA"),
    (call(key="Autograd"), "no call is dispatched to 'Autograd', but to AutogradOther, AutogradCPU, AutogradCUDA ..."),
    (kernel("wrapper_CUDA_add_Tenser"), "did you mean wrapper_CUDA_add_Tensor"),
    (kernel(under="CUBA"), "there is no key 'CUBA'; did you mean CUDA"),
    (node_created("AddBackwards0"), "did you mean AddBackward0"),
    (node_ran("AccumulatedGrad"), "there is no Node 'AccumulatedGrad'; did you mean AccumulateGrad"),
    (event(KernelRegistered, operator="aten::ad"), "there is no operator 'aten::ad'"),
], ids=repr)  # fmt: skip
def test_a_name_that_does_not_exist_is_refused(pattern: Pattern, says: str) -> None:
    trace = _recorded()
    for check in (
        lambda: assert_never(trace, pattern),
        lambda: assert_count(trace, pattern, 1),
        lambda: assert_sequence(trace, [pattern]),
        lambda: assert_subsequence(trace, [pattern]),
        lambda: assert_never(trace, event(NodeCreated), within=pattern),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            check()


def test_a_kernel_that_does_not_exist_is_refused_under_a_key() -> None:
    with pytest.raises(ValueError, match="did you mean wrapper_CPU_add_Tensor"):
        assert_kernel_ran(_recorded(), "wrapper_CPU_add_Tenser", under="CPU")
    with pytest.raises(ValueError, match="there is no key 'CPUU'; did you mean CPU"):
        assert_kernel_ran(_recorded(), "wrapper_CPU_add_Tensor", under="CPUU")


def test_names_that_exist_are_accepted() -> None:
    """Names of PyTorch, of alias keys, and of the program's own libraries and Functions are accepted."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    def own_kernel(x: Any) -> Any:
        return x

    trace = _recorded()
    with torch.library._scoped_library("own", "FRAGMENT") as library:
        library.define("op(Tensor x) -> Tensor")
        library.impl("op", own_kernel, "CPU")
        for pattern in (
            call("own::op", "PrivateUse1"),
            kernel("own_kernel"),
            kernel("VariableType::convolution"),
            kernel("conjugateFallback"),
            kernel("wrapper_CompositeImplicitAutograd__linear"),
            node_ran("OwnBackward"),
            node_created("ConvolutionBackward0"),
            event(KernelRegistered, key="CompositeImplicitAutograd"),
        ):
            assert_never(trace, pattern)
    with dispatchviz.record() as trace, torch.library._scoped_library("gone", "FRAGMENT") as library:
        library.define("op(Tensor x) -> Tensor")
    assert_never(trace, call("gone::op"))


def _recorded() -> Trace:
    with dispatchviz.record() as trace:
        (torch.ones(2, requires_grad=True) + 1).sum()
    return trace


def test_long_lists_are_counted() -> None:
    with dispatchviz.record() as trace:
        for _ in range(50):
            torch.ones(2)
    with pytest.raises(AssertionError) as caught:
        assert_never(trace, call("aten::ones"))
    lines = str(caught.value).splitlines()
    assert lines[0] == "call('aten::ones') happens 50 times, expected never"
    assert (len(lines), lines[-1]) == (14, "    and 38 more")


def test_at_most_allows_fewer_events() -> None:
    assert_at_most(TRACE, node_ran(), 3)
    assert_at_most(TRACE, call("aten::mul.Tensor"), 0)
    says = _fails(assert_at_most, node_ran(), 2)
    assert says.startswith("node_ran() happens 3 times, expected at most twice\n")
    assert _fails(assert_at_most, node_ran(), 0).startswith("node_ran() happens 3 times, expected never\n")


def test_operators_may_be_objects() -> None:
    """Operator objects are callable, but are not conditions."""
    with torch.library._scoped_library("objects", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        with dispatchviz.record() as trace:
            torch.ops.objects.twice(torch.ones(2))
        assert_subsequence(trace, [call(torch.ops.objects.twice), call(torch.ops.aten.mul.Tensor)])
    assert_count(trace, redispatch(torch.ops.aten.mul), 1)
    assert_never(trace, call(torch.ops.aten.mul.Scalar))
    assert_never(trace, kernel(..., under="Meta", operator=torch.ops.aten.mul))
    assert repr(call(torch.ops.aten.mul, "CPU")) == "call(torch.ops.aten.mul, 'CPU')"
    assert repr(redispatch(torch.ops.aten.mul.Tensor)) == "redispatch('aten::mul.Tensor')"
    with pytest.raises(TypeError, match=r"add is a function, not an operator: use torch\.ops\.aten\.add"):
        call(torch.add)


def test_a_packet_means_its_overloads_and_no_other_operator() -> None:
    with dispatchviz.record() as trace:
        torch.ones(2).add_(1)
        torch.addmv(torch.ones(2), torch.ones(2, 2), torch.ones(2))
    assert_never(trace, call(torch.ops.aten.add))


def test_hooks_and_gradients_are_patterns() -> None:
    def scale(gradient: Any) -> Any:
        return gradient * 2

    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(scale)
        y.sum().backward()
    assert_sequence(trace, [hook_ran("scale", kind="tensor pre hook"), accumulated("stolen")])
    assert_never(trace, accumulated("copied"))
    assert repr(hook_ran("scale", kind="post hook")) == "hook_ran('scale', kind='post hook')"


@pytest.mark.parametrize(("operator", "meant"), [
    ("add", "aten::add.Tensor"),
    ("aten::add", "aten::add.Tensor"),
    ("aten.add.Tensor", "aten::add.Tensor"),
    ("torch.ops.aten.sum", "aten::sum"),
    ("ATEN::ADD.TENSOR", "aten::add.Tensor"),
    ("aten::softmx", "aten::softmax.int"),
    ("relux", "aten::relu"),
])  # fmt: skip
def test_incomplete_name_gets_a_suggestion(operator: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"there is no operator '.*'; did you mean (.* or )?{re.escape(meant)}\b"):
        assert_never(TRACE, call(operator))


@pytest.mark.parametrize(("pattern", "meant"), [
    (kernel("wrapper_CPU_ad_Tensor"), "wrapper_CPU_add_Tensor"),
    (kernel("VariableType::mull_Tensor"), "VariableType::mul_Tensor"),
    (kernel("double_it"), "double"),
    (call("close::doubl"), "close::double"),
    (call(key="AutogradCPUs"), "AutogradCPU"),
    (node_created("MullBackward0"), "MulBackward0"),
])  # fmt: skip
def test_misspelled_name_gets_the_closest_ones(pattern: Pattern, meant: str) -> None:
    with torch.library._scoped_library("close", "DEF") as library:
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", double, "CPU")
        with pytest.raises(ValueError, match=rf"; did you mean {re.escape(meant)}[ ?]"):
            assert_never(TRACE, pattern)


def double(x: Any) -> Any:
    return x * 2


def test_lambda_is_named_by_its_line() -> None:
    with dispatchviz.record() as trace, torch.library._scoped_library("unnamed", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        function = lambda x: x.clone()  # noqa: E731
        library.impl("f", function, "CPU")
        torch.ops.unnamed.f(torch.ones(2))
    name = f"<lambda> at test_expectations.py:{function.__code__.co_firstlineno}"
    assert_count(trace, kernel(name), 1)
    assert_count(trace, kernel("<lambda>", under="CPU"), 1)
    assert_kernel_ran(trace, name, under="CPU")
    assert_kernel_ran(trace, "<lambda>", under="CPU")
    with pytest.raises(ValueError, match=f"; did you mean {name}"):
        assert_never(trace, kernel("<lambda> at test_expectations.py:1"))


def test_generated_node_of_an_operator_exists_without_a_formula() -> None:
    with torch.library._scoped_library("plain", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        assert_never(TRACE, node_created("GeneratedBackwardFor_plain_f_defaultBackward"))


def test_failure_shows_similar_events_only() -> None:
    says = _fails(assert_subsequence, [redispatch(ADD, "CPU")])
    assert "similar events:\n" in says
    assert [line.split()[1:] for line in says.splitlines()[1:]] == [
        ["call", ADD, "→", "AutogradCUDA"],
        ["redispatch", ADD, "→", "CUDA"],
    ]


def test_a_kernel_that_did_not_run_is_shown_beside_those_like_it() -> None:
    with dispatchviz.record() as trace:
        torch.ones(2) * 2
    with pytest.raises(AssertionError) as caught:
        assert_kernel_ran(trace, "wrapper_CUDA_mul_Tensor", under="CPU")
    assert "  CPU ran: wrapper_CPU_mul_Tensor, " in str(caught.value)
    at = caught.value.dispatchviz_step  # type: ignore[attr-defined]
    assert trace[at].kernel == "wrapper_CPU_mul_Tensor"  # type: ignore[union-attr]


def test_all_modules_that_define_nodes_are_known() -> None:
    """A module that is not loaded has no subclasses, so its names would be refused."""
    core = Path(dispatchviz.__file__).parent / "core"
    defining = re.compile(r"^ *class \w+\((?:\w+, )*(Node|PyNode|BackwardCFunction)\b", re.MULTILINE)
    found = {path for path in core.rglob("*.py") if defining.search(path.read_text("utf-8"))}
    modules = {".".join(path.relative_to(core).with_suffix("").parts) for path in found}
    assert modules - {"autograd.graph.node"} <= set(NODE_MODULES)


def test_a_node_is_known_before_any_is_made() -> None:
    code = (
        "import dispatchviz\n"
        "from dispatchviz import torch\n"
        "from dispatchviz.testing import *\n"
        "with dispatchviz.record() as trace:\n"
        "    torch.ones(2)\n"
        "for name in ('MulBackward0', 'torch::autograd::CopySlices', 'torch::autograd::AccumulateGrad'):\n"
        "    assert_never(trace, node_created(name))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_empty_trace_fails_if_pytorch_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Trace(TRACE.header, [])
    assert_never(empty, call(ADD))
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    with pytest.raises(AssertionError, match="nothing was recorded on the model"):
        assert_never(empty, call(ADD))

"""Tests of typed changes, and of the changed programs."""

from __future__ import annotations

import ast

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.explain.comparison.what_if.changed_program import changed_program
from dispatchviz.explain.comparison.what_if.changes import KINDS, Change, for_device, read_change
from dispatchviz.foundation.errors import DispatchvizError

from .programs import FORUM, changed, written


@pytest.mark.parametrize(
    ("typed", "change"),
    [
        ("line 6: no_grad", Change(6, "no_grad")),
        ("6:no_grad", Change(6, "no_grad")),
        ("  line 12 :  inference_mode ", Change(12, "inference_mode")),
        ("6: autocast", Change(6, "autocast")),
        ("6: autocast cuda", Change(6, "autocast", ("cuda",))),
        ("6: autocast torch.bfloat16 cpu", Change(6, "autocast", ("cpu", "bfloat16"))),
        ("6: requires_grad x", Change(6, "requires_grad", ("x",))),
        ("6: requires_grad net.weight off", Change(6, "requires_grad", ("net.weight", "off"))),
        ("6: device cuda:1 x y", Change(6, "device", ("cuda:1", "x", "y"))),
        ("6: dtype torch.float64 ws[0]", Change(6, "dtype", ("float64", "ws[0]"))),
        ("6: fallthrough autogradcuda add", Change(6, "fallthrough", ("AutogradCUDA", "aten::add.Tensor"))),
        ("6: register CPU torch.add", Change(6, "register", ("CPU", "aten::add.Tensor"))),
        ("6: register CPU mylib::f", Change(6, "register", ("CPU", "mylib::f"))),
        ("5: skip", Change(5, "skip")),
    ],
)  # fmt: skip
def test_typed_change_is_read(typed: str, change: Change) -> None:
    assert read_change(typed) == change
    assert read_change(change.text) == change, "as it is shown it can be typed"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("no_grad", "'no_grad' is no change: write LINE: CHANGE, for example 'line 6: no_grad'"),
        ("", "'' is no change"),
        ("six: no_grad", "is no change"),
        ("line 6:", "is no change"),
        ("6: nograd", "there is no change 'nograd'; the changes are no_grad, enable_grad"),
        ("6: skip AutoDispatchBelowADInplaceOrView", "PyTorch holds AutoDispatchBelowADInplaceOrView inside a call"),
        ("6: ExcludeDispatchKeyGuard", "Only lines of the program can be changed"),
        ("6: no_grad x", "after the line write no_grad"),
        ("6: requires_grad", "after the line write requires_grad TENSOR [off]"),
        ("6: requires_grad x on", "after the line write requires_grad TENSOR [off]"),
        ("6: requires_grad x+1", "'x+1' is not the name of a tensor: write it as in the line, x or net.weight"),
        ("6: device cuda", "after the line write device DEVICE TENSOR..."),
        ("6: device gpu x", "there is no device 'gpu': write cpu, cuda, cuda:1 or meta"),
        ("6: dtype float x", "there is no dtype 'float': write one of float32, float64"),
        ("6: autocast cuda cpu", "after the line write autocast [DEVICE] [DTYPE]"),
        ("6: autocast half", "there is no dtype 'half'"),
        ("6: fallthrough CPUX add", "there is no dispatch key 'CPUX'; did you mean CPU?"),
        ("6: register CPU addd", "there is no operator 'addd'; did you mean aten::add"),
        ("6: register CPU", "after the line write register KEY OP"),
    ],
)
def test_invalid_change_raises_a_one_line_error(typed: str, says: str) -> None:
    with pytest.raises(DispatchvizError) as error:
        read_change(typed)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_every_kind_describes_the_changed_line() -> None:
    words = {"requires_grad": ("x",), "device": ("cuda", "x"), "dtype": ("int8", "x"), "fallthrough": ("CPU", "f"),
             "register": ("CPU", "f"), "autocast": ("cpu",)}  # fmt: skip
    sentences = {Change(6, what, words.get(what, ())).sentence for what in KINDS}
    assert len(sentences) == len(KINDS)
    assert all(sentence.startswith("line 6 ") for sentence in sentences)
    assert "line 6 gets x.to('cuda')" in sentences


def test_autocast_uses_the_device_of_the_run_by_default() -> None:
    assert for_device(Change(6, "autocast"), "cuda").words == ("cuda",)
    assert for_device(Change(6, "autocast", ("float16",)), "cuda").words == ("cuda", "float16")
    assert for_device(Change(6, "autocast", ("cpu",)), "cuda").words == ("cpu",)
    assert for_device(Change(6, "no_grad"), "cuda").words == ()


ADD = "z = torch.add(x, y)"


def by_hand(line: str) -> str:
    """Return the founding program with another line 6."""
    return FORUM.replace(ADD, line)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("6: no_grad", f"with torch.no_grad(): {ADD}"),
        ("6: enable_grad", f"with torch.enable_grad(): {ADD}"),
        ("6: inference_mode", f"with torch.inference_mode(): {ADD}"),
        ("6: autocast cuda", f'with torch.autocast("cuda"): {ADD}'),
        ("6: autocast cuda bfloat16", f'with torch.autocast("cuda", dtype=torch.bfloat16): {ADD}'),
        ("6: requires_grad y", f"y.requires_grad_(True); {ADD}"),
        ("6: requires_grad x off", f"x.requires_grad_(False); {ADD}"),
        ("6: device cuda x", "z = torch.add(x.to('cuda'), y)"),
        ("6: device cpu x y", "z = torch.add(x.to('cpu'), y.to('cpu'))"),
        ("6: device cpu x", "z = torch.add(x.to('cpu'), y)"),
        ("6: dtype float64 y", "z = torch.add(x, y.to(torch.float64))"),
        ("6: dtype int64 x", "z = torch.add(x.to(torch.int64), y)"),
        ("6: skip", "pass"),
    ],
)
def test_changed_line_equals_one_written_by_hand(change: str, line: str) -> None:
    assert list(changed(FORUM, change).events) == list(written(by_hand(line)).events)


OVERRIDES = pytest.mark.filterwarnings("ignore:Warning only once for all operators")
"""The warning of PyTorch about a kernel that overrides another one."""


@OVERRIDES
@pytest.mark.parametrize("key", ["AutogradCUDA", "CUDA", "AutocastCUDA"])
def test_fallthrough_is_registered_while_the_line_runs(key: str) -> None:
    library = f'L.impl("add.Tensor", torch.library.fallthrough_kernel, "{key}")'
    line = f'with torch.library._scoped_library("aten", "IMPL") as L: {library}; {ADD}'
    found = compare(changed(FORUM, f"6: fallthrough {key} add"), written(by_hand(line)))
    assert not found.divergences
    assert found.numbers is None
    after = changed(FORUM + "z = torch.add(x, y)\n", f"6: fallthrough {key} add", "7: skip")
    plain = written(FORUM.replace("z.sum().backward()", "pass") + "z = torch.add(x, y)\n")
    assert _last_call(after) == _last_call(plain), "afterwards all is as it was"


def _last_call(trace: ev.AnyEvent) -> tuple[str, str]:
    call = [trace[step] for step in trace.steps_of(ev.Dispatched) if trace[step].operator == "aten::add.Tensor"][-1]
    return call.operator, call.key


@OVERRIDES
def test_python_kernel_is_registered_while_the_line_runs() -> None:
    found = compare(written(FORUM), changed(FORUM, "6: register CUDA add"))
    assert found.numbers is None, "it calls the kernel that was there"
    cells = [found.second[step] for step in found.second.steps_of(ev.KernelSelected)]
    assert any(cell.key == "CUDA" and cell.kernel == "replacement" for cell in cells)
    assert not isinstance(found.second[-1], ev.ProgramRaised)


def test_registration_for_a_key_without_a_kernel_raises() -> None:
    last = changed(FORUM, "6: register HPU _local_scalar_dense")[-1]
    assert isinstance(last, ev.ProgramRaised)


WITH = """\
import torch
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = x * 2
@torch.no_grad()
def f(a):
    return a * 2
z = f(x)
"""


def test_skip_removes_the_statement_of_the_line() -> None:
    with_body = WITH.replace("with torch.no_grad():\n    y", "\ny")
    assert list(changed(WITH, "3: skip").events) == list(written(with_body).events)
    undecorated = WITH.replace("@torch.no_grad()", "")
    assert list(changed(WITH, "5: skip").events) == list(written(undecorated).events)
    registered = (
        'import torch\nL = torch.library.Library("my", "DEF")\nL.define("f(Tensor x) -> Tensor")\n'
        'L.impl("f", lambda x: x * 2, "CPU")\ntorch.ops.my.f(torch.ones(2))\n'
    )
    last = changed(registered, "4: skip")[-1]
    assert isinstance(last, ev.ProgramRaised), "without the registration the call has no kernel"
    assert last.exception == "NotImplementedError"


def test_several_changes_apply_at_once() -> None:
    found = changed(FORUM, "6: dtype float64 x", "7: skip")
    hand = FORUM.replace("add(x,", "add(x.to(torch.float64),").replace("z.sum().backward()", "pass")
    assert list(found.events) == list(written(hand).events)


def test_change_applies_in_a_function_and_a_loop() -> None:
    source = "import torch\ndef f(x):\n    for i in range(2):\n        x = x * 2\n    return x\nf(torch.ones(2))\n"
    hand = source.replace("        x = x * 2", "        x = x.to(torch.float64) * 2")
    assert list(changed(source, "4: dtype float64 x").events) == list(written(hand).events)
    hand = source.replace("    return x", "    with torch.no_grad(): return x + 1").replace("return x + 1", "return x")
    assert list(changed(source, "5: no_grad").events) == list(written(hand).events)
    hand = source.replace("        x = x * 2", "        x.requires_grad_(True); x = x * 2")
    assert list(changed(source, "4: requires_grad x").events) == list(written(hand).events)


def test_change_applies_if_torch_has_another_name() -> None:
    source = "import torch as th\nx = th.ones(2)\ny = x * 2\n"
    hand = source.replace("y = x", "with th.no_grad(): y = x")
    assert list(changed(source, "3: no_grad").events) == list(written(hand).events)


def test_trace_has_the_original_text_of_the_program() -> None:
    trace = changed(FORUM, "6: no_grad")
    assert trace.header.sources[trace.header.program] == FORUM
    assert {event.line for event in trace.events if isinstance(event, ev.SourceLine)} == set(range(1, 8))


@pytest.mark.parametrize(
    ("source", "change", "says"),
    [
        (FORUM, "9: no_grad", "the line has no statement; nearby lines with statements are 2, 3, 4, 5, 6 and 7"),
        ("\n\n", "1: no_grad", "line 1: no_grad: the line has no statement"),
        (FORUM, "6: device cuda w", "the line does not read w; names on it are torch, x, y and z"),
        (FORUM, "6: device cuda z", "the line does not read z; names on it are torch, x, y and z"),
        (WITH, "6: no_grad", "6: no_grad: the line defines the function f; name a line within it"),
        (WITH, "6: skip", "skip removes a statement, a with or a decorator, but not a function with its body"),
        ("for i in range(2):\n    pass\n", "1: skip", "but not a for with its body"),
        ("from __future__ import annotations\n", "1: no_grad", "an import from __future__ cannot be changed"),
    ],
)  # fmt: skip
def test_impossible_change_raises_a_one_line_error(source: str, change: str, says: str) -> None:
    with pytest.raises(DispatchvizError) as error:
        changed_program(ast.parse(source), [read_change(change)])
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_statement_of_several_lines_is_changed() -> None:
    source = "import torch\nx = torch.ones(2)\ny = torch.add(\n    x,\n    x,\n)\n"
    hand = source.replace("y = torch.add(", "with torch.no_grad(): y = torch.add(")
    for line in (3, 4, 5, 6):
        assert list(changed(source, f"{line}: no_grad").events) == list(written(hand).events)
    two = "import torch\nx = torch.ones(2); y = x * 2\n"
    hand = two.replace("x = ", "with torch.no_grad(): x = ")
    assert list(changed(two, "2: no_grad").events) == list(written(hand).events)

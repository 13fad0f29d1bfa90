"""Changes as they are typed."""

from __future__ import annotations

import pytest

from dispatchviz.explain.comparison.what_if.changes import KINDS, Change, for_device, read_change
from dispatchviz.foundation.errors import DispatchvizError


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
def test_what_is_typed_is_read(typed: str, change: Change) -> None:
    assert read_change(typed) == change
    assert read_change(change.text) == change, "as it is shown it can be typed"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("no_grad", "'no_grad' is no change: write LINE: CHANGE, for example 'line 6: no_grad'"),
        ("", "'' is no change"),
        ("six: no_grad", "is no change"),
        ("line 6:", "is no change"),
        ("6: nograd", "there is no change 'nograd'; there are no_grad, enable_grad"),
        ("6: skip AutoDispatchBelowADInplaceOrView", "PyTorch holds AutoDispatchBelowADInplaceOrView within a call"),
        ("6: ExcludeDispatchKeyGuard", "what is changed is lines of the program"),
        ("6: no_grad x", "after the line comes no_grad"),
        ("6: requires_grad", "after the line comes requires_grad TENSOR [off]"),
        ("6: requires_grad x on", "after the line comes requires_grad TENSOR [off]"),
        ("6: requires_grad x+1", "'x+1' names no tensor: write it as the line does, x or net.weight"),
        ("6: device cuda", "after the line comes device DEVICE TENSOR..."),
        ("6: device gpu x", "there is no device 'gpu': write cpu, cuda, cuda:1 or meta"),
        ("6: dtype float x", "there is no dtype 'float': write one of float32, float64"),
        ("6: autocast cuda cpu", "after the line comes autocast [DEVICE] [DTYPE]"),
        ("6: autocast half", "there is no dtype 'half'"),
        ("6: fallthrough CPUX add", "there is no dispatch key 'CPUX'; did you mean CPU?"),
        ("6: register CPU addd", "there is no operator 'addd'; did you mean aten::add"),
        ("6: register CPU", "after the line comes register KEY OP"),
    ],
)
def test_what_is_no_change_is_told_in_a_line(typed: str, says: str) -> None:
    with pytest.raises(DispatchvizError) as error:
        read_change(typed)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_every_kind_says_what_the_line_then_does() -> None:
    words = {"requires_grad": ("x",), "device": ("cuda", "x"), "dtype": ("int8", "x"), "fallthrough": ("CPU", "f"),
             "register": ("CPU", "f"), "autocast": ("cpu",)}  # fmt: skip
    sentences = {Change(6, what, words.get(what, ())).sentence for what in KINDS}
    assert len(sentences) == len(KINDS)
    assert all(sentence.startswith("line 6 ") for sentence in sentences)
    assert "line 6 gets x.to('cuda')" in sentences


def test_autocast_is_that_of_the_device_unless_one_is_named() -> None:
    assert for_device(Change(6, "autocast"), "cuda").words == ("cuda",)
    assert for_device(Change(6, "autocast", ("float16",)), "cuda").words == ("cuda", "float16")
    assert for_device(Change(6, "autocast", ("cpu",)), "cuda").words == ("cpu",)
    assert for_device(Change(6, "no_grad"), "cuda").words == ()

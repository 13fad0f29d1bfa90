"""The plain log, its line breaks, and the lines of ``TORCH_SHOW_DISPATCH_TRACE=1``."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.outputs.log.text_log import WIDTH, broken, text_log
from dispatchviz.outputs.log.torch_log import torch_log

HEADER = Header(cuda="emulated on NumPy (no GPU)", program="a.py", sources={"a.py": "import torch\nx = f(y)\n"})


def guards(count: int) -> Trace:
    events: list[ev.AnyEvent] = [ev.SourceLine(0, None, "a.py", 2)]
    for number in range(count):
        seq = 1 + 2 * number
        events.append(ev.GuardEntered(seq, 0, "AutoDispatchBelowAutograd", 0, 0, 0, 0x3800000000))
        events.append(ev.GuardLeft(seq + 1, seq, "AutoDispatchBelowAutograd", 0, 0))
    return Trace(HEADER, events)


def test_log_has_rows_and_reasons() -> None:
    assert "\n".join(text_log(guards(2))) == (
        """\
a.py on the model of PyTorch 2.14.1, cuda: emulated on NumPy (no GPU)

0 > line 2  x = f(y)
1 §   guard AutoDispatchBelowAutograd
        | The guard AutoDispatchBelowAutograd adds the autograd keys to the thread-local exclude set until it
        | ends, because the program entered it.
2 §     guard AutoDispatchBelowAutograd ends
3 §   guard AutoDispatchBelowAutograd
4 §     guard AutoDispatchBelowAutograd ends"""
    )


def test_columns_line_up_when_the_numbers_grow() -> None:
    rows = [line for line in text_log(guards(10)) if line[:2].strip().isdigit()]
    assert rows[1].index("§") == rows[-1].index("§") == 3


def test_lines_are_not_longer_than_the_log_is_wide() -> None:
    assert max(map(len, text_log(guards(3)))) <= WIDTH


def test_log_begins_with_the_problems_of_a_file() -> None:
    trace = Trace(HEADER, [], "a.jsonl is cut off: it opens up to step 7")
    assert list(text_log(trace))[1] == "note: a.jsonl is cut off: it opens up to step 7"


def test_a_real_PyTorch_is_called_so() -> None:
    about = "PyTorch 2.14.1, CPU build, release"
    header = Header(cuda="none", program="a.py", engine="torch", build=about, blind_spots=("The ready queue.",))
    trace = Trace(header, [])
    assert list(text_log(trace)) == [
        "a.py on PyTorch 2.14.1 (installed, observed), cuda: none",
        "one kind of facts is not visible in a release build: dispatchviz doctor --unseen lists them",
    ]


WORDS = st.one_of(st.text("ab-,.é", min_size=1, max_size=9), st.text("ab-", min_size=45, max_size=130))


@given(st.lists(WORDS), st.sampled_from([" ", "  ", "\n"]), st.integers(0, 70))
def test_sentences_are_broken_as_textwrap_does(words: list[str], blank: str, indent: int) -> None:
    sentence, begin = blank.join(words), " " * indent
    width = max(110, indent + 50)
    expected = textwrap.wrap(sentence, width, initial_indent=begin, subsequent_indent=begin)
    assert list(broken(sentence, begin, 110)) == expected


def test_a_space_per_nesting_level_whatever_lies_between() -> None:
    events: list[ev.AnyEvent] = [
        ev.SourceLine(0, None, "a.py", 1),
        ev.Dispatched(1, 0, "call", "aten::add.Tensor", 0x1000010002, "AutogradCUDA"),
        ev.KernelEntered(2, 1, "VariableType::add_Tensor", "", 0x1000010002, "", 0, 0),
        ev.GuardEntered(3, 2, "AutoDispatchBelowADInplaceOrView", 0, 0, 0, 0),
        ev.Dispatched(4, 3, "redispatch", "aten::add.Tensor", 0x10002, "CUDA"),
        ev.Dispatched(5, 2, "redispatchBoxed", "aten::sum", 0x10002, "CUDA"),
        ev.Dispatched(6, 0, "callBoxed", "aten::neg", 0x10002, "CUDA"),
    ]
    assert "\n".join(torch_log(Trace(Header(cuda="CuPy", program="a.py"), events))) == (
        """\
 [call] op=[aten::add.Tensor], key=[AutogradCUDA]
  [redispatch] op=[aten::add.Tensor], key=[CUDA]
  [redispatchBoxed] op=[aten::sum], key=[CUDA]
 [callBoxed] op=[aten::neg], key=[CUDA]"""
    )


def test_nothing_dispatched_is_no_line() -> None:
    assert list(torch_log(Trace(Header(cuda="CuPy", program="a.py"), []))) == []

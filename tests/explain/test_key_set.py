"""The key-set card: rows, lit cells and reasons."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.kinds.all_kinds import why_here
from tests.steps import step

from .founding import CUDA, EXCLUDED, INCLUDED, Tape, X, founding
from .programs import traced

MARKS = {"lit": "#", "dark": ".", "masked": "x", "won": "W"}


def drawn(card: KeySetCard | None) -> str:
    assert card is not None
    names = " ".join(column.name for column in card.columns)
    rows = [f"{''.join(MARKS[cell] for cell in row.cells)} {row.raw:#x} {row.title}" for row in card.rows]
    return "\n".join([names, *rows])


def test_card_of_a_call_has_all_rows() -> None:
    trace = founding()
    assert (
        drawn(key_set_card(trace, step(trace, ev.FallthroughSkipped)))
        == """\
AutocastCUDA AutogradCUDA ADInplaceOrView BackendSelect CUDA CUDA bit
###.## 0x801400010002 self = x
###.## 0x801400010002 other = y
###.## 0x801400010002 united
..##.. 0x404000000 included
x..... 0x1ff8000000000 excluded
x#xx## 0x3fd7387bfbffffff mask
x#xx## 0x1000010002 effective
.W...W 0x1000000002 AutogradCUDA"""
    )


def test_why_each_key_is_in_the_set_of_a_call() -> None:
    trace = founding()
    card = key_set_card(trace, step(trace, ev.KeySetComputed))
    assert card is not None
    assert dict(card.reasons) == {
        "AutocastCUDA": (
            "x and y have this key, as every CUDA tensor does. It is not in the key set: the thread-local "
            "exclude set has it while autocast is off."
        ),
        "AutogradCUDA": (
            "x and y are CUDA tensors, and every ordinary CUDA tensor has this key from the moment it is made, whether "
            "it requires grad or not. It is the highest key left, so it wins."
        ),
        "ADInplaceOrView": (
            "x and y have this key, as every ordinary tensor does, and it is in the thread-local include set by "
            "default. It is not in the key set, because aten::add.Tensor has a fallthrough for it and the operator's "
            "mask removes such keys."
        ),
        "BackendSelect": (
            "This key is in the thread-local include set by default. It is not in the key set, because "
            "aten::add.Tensor has a fallthrough for it and the operator's mask removes such keys."
        ),
        "CUDA": "x and y are CUDA tensors. It is in the key set, but AutogradCUDA is higher.",
    }


def test_card_of_a_redispatch_shows_its_mask() -> None:
    trace = founding()
    card = key_set_card(trace, step(trace, ev.ImplEntered))
    assert (
        drawn(card)
        == """\
AutogradCUDA CUDA CUDA bit
### 0x1000010002 received by VariableType::add_Tensor
x## 0x20000007ffffffff & after_autograd_keyset
x## 0x10002 passed on
.WW 0x10002 CUDA"""
    )
    assert card is not None
    assert dict(card.reasons) == {
        "AutogradCUDA": (
            "VariableType::add_Tensor ran for this key and removes it, so that the redispatch reaches the keys below "
            "it."
        ),
        "CUDA": "It is the highest key left, so it wins.",
    }


def test_no_card_outside_a_dispatch() -> None:
    assert key_set_card(founding(), 0) is None


def test_two_backends_are_two_columns_and_the_higher_one_decides() -> None:
    tape = Tape()
    arguments = (("self", X, CUDA), ("other", 1, 0x9400010001))
    with tape.within(ev.Dispatched, "call", "aten::add.Tensor", 0x1000010003, "AutogradCUDA") as called:
        tape.add(ev.KeySetComputed, arguments, INCLUDED, EXCLUDED, 0x3FD7387BFBFFFFFF, 0x1000010003)
    card = key_set_card(tape.trace(), called)
    assert drawn(card).splitlines()[0].split() == [
        *("AutocastCUDA", "AutocastCPU", "AutogradFunctionality", "ADInplaceOrView", "BackendSelect", "Dense"),
        *("CUDA", "bit", "CPU", "bit"),
    ]
    assert drawn(card).splitlines()[-1] == "..W...W. 0x1000000002 AutogradCUDA"
    assert card is not None
    assert dict(card.reasons)["AutogradCUDA"].startswith(
        "t0 is a CUDA tensor (CUDA comes before CPU), and every ordinary CUDA tensor has this key"
    )


def test_keys_kept_out_by_a_guard() -> None:
    trace = founding()
    tape = Tape()
    founding(add_to=tape)
    guard = next(event for event in trace if isinstance(event, ev.GuardEntered))
    tape.open = step(trace, ev.KernelEntered, 1)
    with tape.within(ev.Dispatched, "call", "aten::neg", 0x10002, "CUDA"):
        tape.add(ev.KeySetComputed, (("self", X, CUDA),), INCLUDED, guard.excluded, 0x3FD7387BFBFFFFFF, 0x10002)
    card = key_set_card(tape.trace(), len(tape.events) - 1)
    assert card is not None
    assert dict(card.reasons)["AutogradCUDA"] == (
        "x is a CUDA tensor, and every ordinary CUDA tensor has this key from the moment it is made, whether it "
        "requires grad or not. It is not in the key set: the guard AutoDispatchBelowADInplaceOrView excludes "
        "it because autograd has already been handled."
    )


def test_a_variable_that_looks_like_a_word_keeps_its_name() -> None:
    trace = traced("import torch\nrow = torch.ones(2)\ntwice = row * row\n")
    computed = [e.seq for e in trace if isinstance(e, ev.KeySetComputed) and e.arguments][-1]
    assert "row does not require grad" in why_here(trace, computed)

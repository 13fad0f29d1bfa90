"""How each kind of event of an installed PyTorch is known."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header
from dispatchviz.explain.kinds.all_kinds import KINDS, unseen
from dispatchviz.explain.trace_index.recorded_engine import Unseen, build_of, engine_text, is_unseen


@pytest.mark.parametrize("kind", KINDS)
def test_fields_that_are_known_otherwise_are_fields(kind: type[ev.Event]) -> None:
    fields = {field.name for field in msgspec.structs.fields(kind)}

    known = KINDS[kind].known
    assert set(known.fields) <= fields
    assert all(how != known.how for how, _ in known.fields.values())


def test_what_is_said_of_a_mixed_kind() -> None:
    text = str(KINDS[ev.KeySetComputed].known)

    assert text.startswith("observed: the sets of the arguments and of the thread are read")
    assert "; mask derived: from the registrations of this build; " in text


def test_what_is_said_of_an_unseen_kind() -> None:
    assert unseen(ev.NodeQueued) == "Not seen in a release build: counts and ready queues are inside the engine."


def test_the_records_of_unseen_kinds_say_so() -> None:
    assert {KINDS[kind].known.how for kind in get_args(Unseen)} == {"unseen"}


def test_nothing_of_the_model_is_unseen() -> None:
    header = Header(cuda="CuPy", program="x.py")

    assert not any(is_unseen(header, kind) for kind in get_args(Unseen))
    assert engine_text(header) == "the model of PyTorch 2.13.0, cuda: CuPy"


@pytest.mark.parametrize(("build", "name"), [("CPU", "cpu"), ("CUDA 12.8", "cuda"), ("ROCm 6.4", "cuda")])
def test_an_installed_pytorch(build: str, name: str) -> None:
    about = f"PyTorch 2.12.1, {build} build, release"
    header = Header(engine="torch", pytorch="2.12.1", cuda="none", build=about, program="x.py")

    assert is_unseen(header, ev.MetaEntered)
    assert engine_text(header) == "PyTorch 2.12.1 (installed, observed), cuda: none"
    assert build_of(header) == name

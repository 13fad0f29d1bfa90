"""Check that each known message has a shipped program that raises it, and is recognized as that message only."""

from __future__ import annotations

import io
import runpy
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.diagnosis.diagnosis import UNKNOWN
from dispatchviz.explain.diagnosis.messages.known_message import FIELD, KnownMessage
from dispatchviz.explain.diagnosis.messages.table import MESSAGES, found_in
from dispatchviz.foundation.shipped_examples import ERRORS, folder
from dispatchviz.running.program import run

WITHOUT = {
    "CUDA after fork": "a second process is needed",
    "CUDA assertion": "it ends the use of the GPU in the process",
    "CUDA memory": "it fills a GPU",
    "DDP with two gradients": "several processes are needed",
    "DDP without a gradient": "several processes are needed",
    "file of a GPU": "a file from a machine with a GPU is needed",
    "file that is refused": "a file with an object of another program is needed",
    "no batching rule": "operators without a rule become fewer with each release",
    "no GPU": "a build with CUDA on a machine without a GPU is needed",
    "no gradients to unscale": "a GPU is needed",
    "no such GPU": "a GPU is needed",
}
"""The kinds without a program, with the reason."""

ON_CUDA = {"device of a generator", "device of indices", "numpy of another device", "two devices"}
"""The kinds that need a GPU on an installed PyTorch. The model emulates one."""

SHOWN = [message for message in MESSAGES if message.kind not in WITHOUT]


def of(message: KnownMessage) -> str:
    return message.kind


def test_each_kind_has_one_entry() -> None:
    assert len({message.kind for message in MESSAGES}) == len(MESSAGES) > 80


def test_each_message_has_a_program_and_each_program_a_message() -> None:
    assert {message.kind for message in MESSAGES if not message.example} == set(WITHOUT)
    programs = {path.relative_to(folder()).as_posix() for path in (folder() / ERRORS).glob("*.py")}
    assert {message.example.removeprefix("examples/") for message in SHOWN} == programs


def recognized(message: KnownMessage, said: str) -> None:
    """Assert that a text matches this message only, and that its values are read."""
    found = found_in(said)
    assert [each.message.kind for each in found] == [message.kind], said
    assert found[0].why.endswith(message.cause)
    if message.detail:
        assert found[0].why != message.cause, "the values say nothing"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("message", [each for each in SHOWN if each.engine == "model"], ids=of)
def test_program_raises_its_message_on_the_model(message: KnownMessage) -> None:
    trace = run(str(program(message)), (), io.StringIO()).trace
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    recognized(message, last.message)
    first = diagnoses(trace)[0]
    assert (first.rank, first.says) == ("error", last.message)
    assert first.fixes, "what the command behind `see` prints"
    assert message.diagnosis or first.kind == UNKNOWN, f"a rule knows it: {first.kind}"
    assert first.kind == message.diagnosis or first.kind.startswith(f"{message.diagnosis}:") or first.kind == UNKNOWN


@pytest.mark.parametrize("message", [each for each in SHOWN if each.engine == "torch"], ids=of)
def test_message_of_pytorch_only_is_not_raised_by_the_model(message: KnownMessage) -> None:
    last = run(str(program(message)), (), io.StringIO()).trace[-1]
    assert not isinstance(last, ev.ProgramRaised) or not found_in(last.message)
    assert "--engine torch" in message.command


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("message", SHOWN, ids=of)
def test_program_raises_its_message_on_an_installed_pytorch(message: KnownMessage) -> None:
    torch = pytest.importorskip("torch")
    if message.kind in ON_CUDA and not torch.cuda.is_available():
        pytest.skip("it needs a GPU")
    if message.kind == "built without CUDA" and torch.backends.cuda.is_built():
        pytest.skip("this PyTorch is built with CUDA")
    with pytest.raises(BaseException) as raised:  # noqa: PT011, the type is not what is looked at
        runpy.run_path(str(program(message)))
    recognized(message, str(raised.value))


def program(message: KnownMessage) -> Path:
    return folder() / message.example.removeprefix("examples/")


SAMPLES = {None: "word", "n": "3", "shape": "[2, 3]", "text": "some text"}


@pytest.mark.parametrize("message", MESSAGES, ids=of)
def test_every_form_matches_only_its_own_message(message: KnownMessage) -> None:
    for form in (message.says, *message.or_says):
        said = FIELD.sub(lambda field: SAMPLES[field[2]], form)
        assert [each.message.kind for each in found_in(f"RuntimeError: {said}")] == [message.kind], said


IN_LIBRARIES = {
    "CUDA after fork": "cuda/__init__.py",
    "DDP with two gradients": "lib/libtorch_cpu.so",
    "DDP without a gradient": "lib/libtorch_cpu.so",
    "file that is refused": "serialization.py",
    "no gradients to unscale": "amp/grad_scaler.py",
    "no batching rule": "lib/libtorch_cpu.so",
}
"""The libraries of PyTorch that contain the text of a message without a program. Others are in libraries of CUDA."""


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="libraries have other names")
@pytest.mark.parametrize("kind", IN_LIBRARIES)
def test_message_without_a_program_is_in_pytorchs_libraries(kind: str) -> None:
    torch = pytest.importorskip("torch")
    message = next(each for each in MESSAGES if each.kind == kind)
    text = (Path(torch.__file__).parent / IN_LIBRARIES[kind]).read_bytes()
    assert message.says.encode()[:60] in text

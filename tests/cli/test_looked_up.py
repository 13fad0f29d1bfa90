"""The home screen looks things up with the same texts and errors as the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli.looked_up import look_up
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.views.text.console import Console

from .command import dispatchviz, refused

WRONG = [
    ("table", ""), ("table", "ad"), ("table", "add NoKey"), ("table", "add --nothing"), ("table", "add --build gpu"),
    ("why", "add"), ("why", "linear Autograd"), ("why", "lineer CPU"), ("why", "add CPU --error message.txt"),
    ("why", "--error nothing.txt"), ("keys", "NoKey"), ("keys", "-3"), ("codegen", "addd"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "typed"), WRONG)
def test_a_mistake_gets_the_line_of_the_command(command: str, typed: str) -> None:
    with pytest.raises(DispatchvizError) as mistake:
        look_up(command, typed)
    assert refused(command, *typed.split()) == f"dispatchviz: {mistake.value}\n"


@pytest.mark.parametrize(("command", "typed"), [
    ("table", "add"),
    ("table", "add.out CUDA AutogradCUDA"),
    ("why", "linear PrivateUse1 CPU"),
    ("keys", ""),
    ("keys", "AutogradCUDA 0x1000010002"),
    ("table", "ldexp --release 2.9"),
    ("why", "ldexp AutogradCPU --since"),
    ("keys", "Named --release 2.9"),
    ("codegen", "AddBackward0"),
])  # fmt: skip
def test_the_text_is_that_of_the_command(command: str, typed: str) -> None:
    lines = list(look_up(command, typed)(Console(100, colors=False)))
    assert "\n".join([*lines, ""]) == dispatchviz(command, *typed.split()).out


def test_options_without_effect_on_a_screen_are_refused() -> None:
    with pytest.raises(DispatchvizError, match=r"--json works only on the command line: dispatchviz table add --json"):
        look_up("table", "add --json")
    with pytest.raises(DispatchvizError, match="standard input is the keyboard here"):
        look_up("why", "--error -")
    with pytest.raises(DispatchvizError, match="no closing quotation"):
        look_up("keys", "'CPU")
    with pytest.raises(DispatchvizError, match="--help"):
        look_up("keys", "--help")


def test_the_message_of_an_error_is_read_from_a_file(tmp_path: Path) -> None:
    message = tmp_path / "a message.txt"
    message.write_text("NotImplementedError: Could not run 'aten::add.out' with arguments from the 'Vulkan' backend.")
    text = "\n".join(look_up("why", f"--error '{message}'")(Console(100, colors=False)))
    assert "aten::add.out" in text

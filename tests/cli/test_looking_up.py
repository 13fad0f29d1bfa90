"""``table``, ``why`` and ``keys`` as a user sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.cli.fast_commands import FAST_COMMANDS, click_command, command_module, read
from dispatchviz.cli.overview import COMMANDS
from tests.waiting import HANGS
from truth import records

from .command import dispatchviz, refused

pytestmark = pytest.mark.record("missing_kernels")

TEXTS = records.read("missing_kernels")["texts"]


def test_table_shows_only_the_named_keys() -> None:
    ended = dispatchviz("table", "aten::add.Tensor", "CPU", "AutogradCUDA", "XLA", "BackendSelect", "--build", "cpu")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        """\
aten::add.Tensor  (build cpu)
  aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  defined: registered at build/aten/src/ATen/RegisterSchema.cpp:6
  95 of 137 entries hold a kernel; the mask of its calls is 0x3fd7387bfbffffff

 1 ● CPU            kernel
     wrapper_CPU_add_Tensor  RegisterCPU_0.cpp:1307
97 ● AutogradCUDA   autograd kernel
     VariableType::add_Tensor  VariableType_2.cpp:10917
 4 ✗ XLA            missing
86 ↷ BackendSelect  backend fallback
     fallthrough_kernel  BackendSelectFallbackKernel.cpp:3

● dispatchviz runs it   ↷ fallthrough: calls skip it   ✗ no kernel: calls fail
"""
    )


def test_a_folded_table_fits_a_screen_and_all_has_every_cell() -> None:
    folded, everything = dispatchviz("table", "add").out, dispatchviz("table", "add", "--all").out
    assert "the 16 Autograd keys" in folded
    assert "✗ 40 empty: XLA, Lazy" in folded
    assert "aten::add has other overloads, too:" in folded
    assert sum(" Autograd" in line for line in everything.splitlines()) == 18
    assert len(folded.splitlines()) < len(everything.splitlines()) / 2


def test_table_is_printed_as_json() -> None:
    table = json.loads(dispatchviz("table", "sum", "CPU", "--json").out)
    assert (table["operator"], table["build"], table["valid"]) == ("aten::sum", "cuda", 113)
    assert table["rows"] == [
        {
            "cell": 1,
            "key": "CPU",
            "kernel": "wrapper_CompositeExplicitAutograd__sum",
            "reason": "default backend kernel",
            "source": "CompositeExplicitAutograd",
            "registered": "registered at build/aten/src/ATen/RegisterCompositeExplicitAutograd_0.cpp:10720",
            "state": "here",
        }
    ]


def test_history_shows_the_changes_of_a_cell() -> None:
    ended = dispatchviz("table", "add", "AutogradCPU", "Fake", "--history", "--build", "cpu")
    assert (ended.status, ended.err) == (0, "")
    before, fallback, alias, end = ended.out.rstrip().split("\n\n")[-5:-1]
    assert "never when the operator is called." in " ".join(before.split())
    assert fallback.startswith("27  fallback  aten/src/ATen/core/VariableFallbackKernel.cpp:66\n")
    assert "● AutogradCPU: no kernel → autograd_fallback [backend fallback]" in fallback
    assert "TORCH_LIBRARY_IMPL(aten, Autograd, m) {\n" in alias
    assert "autograd_fallback [backend fallback] → VariableType::add_Tensor [autograd kernel]" in alias
    assert "The alias Autograd covers 18 keys" in alias
    assert end.startswith("Empty throughout: Fake.\n[backend fallback]")


def test_the_whole_history_folded_and_all_of_it() -> None:
    folded = dispatchviz("table", "aten::empty.memory_format", "--history").out
    assert "PyTorch promises no order" in folded
    assert "setOperatorHasFallthroughForKey(BackendSelect, false): the key is in the mask again" in folded
    assert folded.count("A fallback is for all operators") < 5
    everything = dispatchviz("table", "aten::empty.memory_format", "--history", "--all").out
    assert (
        "TORCH_LIBRARY_IMPL(_, BackendSelect, m) { m.fallback(torch::CppFunction::makeFallthrough()); }" in everything
    )
    assert everything.count("A fallback is for all operators") == 38
    assert len(everything.splitlines()) > len(folded.splitlines())


def test_the_history_in_short() -> None:
    short = dispatchviz("table", "add", "--history", "--short").out.splitlines()
    assert "    1-3    3 fallbacks   Functionalize, Conjugate and Batched" in short[1]
    assert "   52 ●  alias kernel  Autograd: VariableType::add_Tensor, 18 entries" in "\n".join(short)
    assert "   54    fallback      Tracer: general_trace_function, no table entry changes" in "\n".join(short)
    assert len(short) < 40
    of_a_cell = dispatchviz("table", "add", "AutogradCPU", "--history", "--short").out
    assert [row.split()[0] for row in of_a_cell.splitlines()[1:3]] == ["27", "52"]


def test_history_is_printed_as_json() -> None:
    history = json.loads(dispatchviz("table", "relu", "CPU", "--history", "--json").out)
    (step,) = history["steps"]
    assert (step["kind"], step["key"], step["kernel"]) == ("kernel", "CPU", "wrapper_CPU__relu")
    assert step["changes"][0]["before"] == {"kernel": "", "reason": "missing"}
    assert step["changes"][0]["keys"] == ["CPU"]


def test_why_in_text_and_json() -> None:
    ended = dispatchviz("why", "aten::linear", "PrivateUse1")
    assert ended.status == 0
    assert ended.out.startswith("aten::linear  PrivateUse1  (table entry 13 of 137, build cuda)\n")
    assert 'm.impl("linear", your kernel) under PrivateUse1' in ended.out
    assert "✓ CompositeImplicitAutograd" in ended.out
    found = json.loads(dispatchviz("why", "linear", "PrivateUse1", "AutogradCPU", "--json").out)
    assert found["build"] == "cuda"
    assert [(each["key"], each["reason"]) for each in found["answers"]] == [
        ("PrivateUse1", "math kernel"),
        ("AutogradCPU", "math kernel"),
    ]
    assert set(found["answers"][0]) == {
        "operator", "key", "cell", "kernel", "reason", "tag", "source", "registered", "why", "claims", "called",
        "changes", "table",
    }  # fmt: skip


def test_why_error_explains_messages_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(TEXTS["quantized"])
    ended = dispatchviz("why", "--error", "log", cwd=tmp_path)
    assert ended.status == 0
    for part in ("PyTorch says", "try", "see", "What happened", "What the list shows", "Usual causes", "Today"):
        assert f"\n{part}" in ended.out
    (message,) = json.loads(dispatchviz("why", "--error", "log", "--json", cwd=tmp_path).out)["messages"]
    found = message["kernel"]
    assert message["try"] == found["todo"]
    assert (found["operator"], found["key"], found["kind"]) == ("aten::exp.out", "QuantizedCPU", "no kernel")


def test_why_error_reads_standard_input() -> None:
    command = [sys.executable, "-m", "dispatchviz", "why", "--error", "-"]
    done = subprocess.run(command, input=TEXTS["meta"], capture_output=True, text=True, timeout=HANGS, check=True)
    assert "register_fake('recorded::on_cpu')" in done.stdout


def test_keys_lists_and_explains_keys() -> None:
    assert "Functionalities, highest priority first" in dispatchviz("keys").out
    order = json.loads(dispatchviz("keys", "--json").out)
    assert order["functionalities"][0] == {
        "name": "PythonDispatcher",
        "value": 46,
        "bit": 61,
        "cells": "136",
        "meaning": "passes every call to a dispatcher written in Python",
    }
    assert order["backends"][15] == {"bit": 15, "name": "Meta"}
    assert [alias["keys"] for alias in order["aliases"]] == [18, 103, 1, 17, 69, 47]


def test_raw_sets_and_a_list_of_operators() -> None:
    out = dispatchviz("keys", "274877939713", "0x1000010002").out
    assert "2.0 to 2.2  AutogradCPU, CPU (bits 0 CPU, 15 Dense, 38 AutogradFunctionality)" in out
    assert "AutogradCUDA, table entry 97" in out
    listed = dispatchviz("keys", "AutogradCUDA", "--operators").out
    assert "aten::_test_autograd_multiple_dispatch_view_copy" in listed
    cards = json.loads(dispatchviz("keys", "32769", "CPU", "--json").out)
    assert (cards[0]["raw"], cards[0]["sensible"], cards[0]["elsewhere"][0]["releases"]) == (32769, False, "2.0 to 2.7")
    assert (cards[1]["name"], cards[1]["cells"]) == ("CPU", [1])


def test_unknown_build_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPATCHVIZ_BUILD", "rocm")
    assert "DISPATCHVIZ_BUILD" in refused("table", "add")


def test_the_quick_reader_and_click_read_alike() -> None:
    lines = {
        "table": [
            ["add"],
            ["add", "CPU", "--all", "--history"],
            ["--json", "add", "--build", "cpu", "CUDA", "Meta"],
            ["a", "--release", "2.9"],
        ],
        "why": [
            ["add", "CPU"],
            ["--error", "-", "--json"],
            ["add", "CPU", "CUDA", "--build", "cuda"],
            ["a", "b", "--since"],
        ],
        "codegen": [["add"], ["--json", "add.Tensor"], ["mm", "--plain", "--real", "--build", "cpu"]],
        "keys": [[], ["CPU", "3"], ["--release", "1.12", "7", "--operators"]],
    }
    for name in FAST_COMMANDS:
        module, command = command_module(name), click_command(name)
        for words in lines[name]:
            context = command.make_context(name, list(words))
            assert read(module.OPTIONS, module.ARGUMENTS, words) == context.params
    assert set(FAST_COMMANDS) <= set(COMMANDS)


@pytest.mark.parametrize("words", [
    ["keys"],
    ["table", "add"],
    ["table", "add", "--history"],
    ["why", "linear", "PrivateUse1"],
    ["keys", "32769"],
    ["codegen", "mm"],
    ["table", "ldexp", "--release", "2.9"],
    ["why", "ldexp", "CPU", "--since"],
    ["keys", "Named", "--release", "2.9"],
])  # fmt: skip
def test_no_heavy_library_is_loaded(words: list[str]) -> None:
    code = f"import sys; from dispatchviz.cli import main; main({words!r}); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert not {"numpy", "textual", "rich", "graphviz", "click"} & set(loaded)


def test_no_colors_without_a_terminal() -> None:
    assert "\x1b" not in dispatchviz("table", "add").out + dispatchviz("why", "add", "CPU").out

"""``dispatchviz diff``: the text for a reader, and the exit status for a script."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dispatchviz.trace import Trace

from .command import dispatchviz, refused, script

pytestmark = pytest.mark.long


PLAIN = (
    "import torch\n\nx = torch.ones(2, requires_grad=True)\ny = torch.ones(2)\nz = torch.add(x, y)\nprint(z.shape)\n"
)
NO_GRAD = PLAIN.replace("z =", "with torch.no_grad():\n    z =")
FUNCTION = "import torch\n\n\ndef f(x):\n    return x * 2\n\n\nprint(f(torch.ones(2, 3, requires_grad=True)).shape)\n"


def test_two_scripts_are_compared(tmp_path: Path) -> None:
    names = script(tmp_path, PLAIN, "plain.py"), script(tmp_path, NO_GRAD, "no_grad.py")
    ended = dispatchviz("diff", *names, cwd=tmp_path)
    assert ended.status == 1
    assert ended.out == (
        "The steps first differ at line 5 in no_grad.py: with torch.no_grad():\n"
        "  Only in no_grad.py: torch.no_grad() switches grad mode off. The autograd kernels still run, but\n"
        "  they record no Nodes until it is on again.\n"
        "  Step 67 in no_grad.py\n"
        "\n"
        "Differences after that\n"
        "  line 5 in plain.py, line 6 in no_grad.py: z = torch.add(x, y)\n"
        "      In plain.py VariableType::add_Tensor records AddBackward0. In no_grad.py, grad mode is off, so\n"
        "      no Node is recorded. The kernel only redispatches.\n"
        "\n"
        "To step from there: dispatchviz run --hashes --step 67 no_grad.py\n"
    )
    log = dispatchviz("trace", "--hashes", names[1], cwd=tmp_path).out
    assert "\n67 §   grad mode off (torch.no_grad())\n" in log
    assert ended.err == "torch.Size([2])\n" * 2


def test_script_equals_its_own_trace(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN)
    assert dispatchviz("trace", "--hashes", "--save", "t.dvtrace", name, cwd=tmp_path).status == 0
    for other in (name, "t.dvtrace"):
        ended = dispatchviz("diff", name, other, cwd=tmp_path)
        assert (ended.status, "Every result has the same numbers." in " ".join(ended.out.split())) == (0, True)


def test_a_trace_without_hashes_says_so(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN)
    assert dispatchviz("export", name, "-o", "t.jsonl", cwd=tmp_path).status == 0
    ended = dispatchviz("diff", "t.jsonl", name, cwd=tmp_path)
    assert ended.status == 0
    assert "numbers were not compared. To compare them, record both runs with --hashes" in " ".join(ended.out.split())


def test_arguments_go_to_both_scripts(tmp_path: Path) -> None:
    one = script(tmp_path, "import sys, torch\ntorch.ones(int(sys.argv[1]))\n", "one.py")
    other = script(tmp_path, "import torch\ntorch.ones(3)\n", "other.py")
    assert dispatchviz("diff", one, other, "--", "3", cwd=tmp_path).status == 0
    ended = dispatchviz("diff", one, other, "--", "4", cwd=tmp_path)
    assert ended.status == 1
    assert "Python calls torch.ones(4) in one.py, torch.ones(3) in other.py." in ended.out


def test_error_of_one_script_is_a_difference(tmp_path: Path) -> None:
    plain = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y * y\ny = y + 1\nz.sum().backward()\n"
    names = script(tmp_path, plain, "a.py"), script(tmp_path, plain.replace("y = y + 1", "y.add_(1)"), "b.py")
    ended = dispatchviz("diff", *names, cwd=tmp_path)
    assert ended.status == 1
    assert (
        "An error ends the program in b.py\n  why  MulBackward0 (n2), made on line 4 (z = y * y), saved y" in ended.out
    )
    assert "In a.py, the program runs to its end." in ended.out
    assert dispatchviz("diff", names[1], names[1], cwd=tmp_path).status == 0, "both raise alike"


def test_one_script_may_come_from_standard_input(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN)
    ended = dispatchviz("diff", name, "-", cwd=tmp_path, given=NO_GRAD.encode())
    assert ended.status == 1
    assert "Only in standard input: torch.no_grad() switches grad mode off" in ended.out


def test_examples_that_ship_are_found_in_every_folder(tmp_path: Path) -> None:
    ended = dispatchviz("diff", "--plain", "examples/forum.py", "examples/broadcast.py", cwd=tmp_path)
    assert (ended.status, "in broadcast.py" in ended.out) == (1, True), ended.err


def test_bad_input_is_reported_in_one_line(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN)
    (tmp_path / "bad.dvtrace").write_bytes(b"\x89dvtrace" + bytes(40))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    for wrong in ("bad.dvtrace", "empty.jsonl", "none.dvtrace", "none.py"):
        assert wrong in refused("diff", name, wrong, cwd=tmp_path)
        assert wrong in refused("diff", wrong, "bad.dvtrace", cwd=tmp_path) or wrong == "none.py"
    said = "dispatchviz: there is no file none.py: diff compares two scripts or traces\n"
    assert refused("diff", name, "none.py", cwd=tmp_path) == said, "nothing ran"
    assert "two scripts or traces" in refused("diff", name, cwd=tmp_path)
    assert "two scripts or traces" in refused("diff", name, name, name, cwd=tmp_path)
    assert "only one of A and B can be standard input" in refused("diff", "-", "-", cwd=tmp_path)
    assert "--function is for --classics" in refused("diff", name, name, "--function", "f", cwd=tmp_path)


def test_a_damaged_trace_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN)
    assert dispatchviz("trace", "--save", "t.jsonl", name, cwd=tmp_path).status == 0
    whole = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(whole[: len(whole) // 2])
    ended = dispatchviz("diff", "t.jsonl", "cut.jsonl", cwd=tmp_path)
    assert ended.status == 1
    assert "cut.jsonl" in ended.err
    assert "Only in t.jsonl" in ended.out


# -- classics ---------------------------------------------------------------------------------------------------------


def test_one_function_in_four_ways(tmp_path: Path) -> None:
    ended = dispatchviz("diff", "--classics", script(tmp_path, FUNCTION), cwd=tmp_path)
    assert ended.status == 1
    heads = [line for line in ended.out.splitlines() if line.endswith("above def f")]
    assert heads == [
        "no_grad: @torch.no_grad() above def f",
        "inference_mode: @torch.inference_mode() above def f",
        'autocast: @torch.autocast("cpu") above def f',
        "vmap: @torch.vmap above def f",
    ]
    for says in (
        "In the plain run VariableType::mul_Tensor records MulBackward0. Under no_grad, grad mode is off",
        "aten::mul.Tensor goes to AutogradCPU in the plain run, CPU under inference_mode.",
        "Only under autocast: Autocast for cpu is on",
        "aten::mul.Tensor goes to AutogradCPU in the plain run, FuncTorchDynamicLayerFrontMode under vmap.",
    ):
        assert says in " ".join(ended.out.split())
    assert ended.err == "torch.Size([2, 3])\n" * 5


def test_classics_chooses_the_function(tmp_path: Path) -> None:
    two = script(tmp_path, FUNCTION + "\n\ndef g():\n    pass\n")
    assert "has" not in two
    assert "the functions f, g" in refused("diff", "--classics", two, cwd=tmp_path)
    assert "no function h" in refused("diff", "--classics", two, "--function", "h", cwd=tmp_path)
    assert "no function" in refused("diff", "--classics", script(tmp_path, PLAIN), cwd=tmp_path)
    assert "runs one SCRIPT" in refused("diff", "--classics", two, two, cwd=tmp_path)
    two = script(tmp_path, FUNCTION + "\n\ndef g():\n    pass\n")
    ended = dispatchviz("diff", "--classics", two, "--function", "g", cwd=tmp_path)
    assert ended.status == 0, "g is never called"


def test_classics_use_autocast_for_the_device(tmp_path: Path) -> None:
    name = script(tmp_path, FUNCTION.replace("requires_grad=True", 'device="cuda"'))
    ended = dispatchviz("diff", "--classics", name, cwd=tmp_path)
    assert 'autocast: @torch.autocast("cuda") above def f' in ended.out


# -- what if ----------------------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_whatif_on_an_installed_pytorch_runs_both_there(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN.replace("y = torch.ones(2)", "y = torch.rand(2)"))
    ended = dispatchviz("diff", "--engine", "torch", "--what-if", "5: dtype float64 x", name, cwd=tmp_path)
    assert ended.status == 1
    assert "Only in the changed run aten::to.dtype is called here." in ended.out
    assert "draws random numbers" not in ended.out, "both runs draw the same"
    assert ended.err == "torch.Size([2])\n" * 2


def test_whatif_runs_a_script_unchanged_and_changed(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN)
    ended = dispatchviz("diff", "--what-if", "line 5: no_grad", name, cwd=tmp_path)
    assert ended.status == 1
    assert ended.out.startswith(
        "What if line 5: no_grad\n\nThe steps first differ at line 5: z = torch.add(x, y)\n"
        "  Only in the changed run: torch.no_grad() switches grad mode off"
    )
    assert "In the changed run, grad mode is off, so no Node is recorded" in " ".join(ended.out.split())
    assert ended.err == "torch.Size([2])\n" * 2
    assert Path(tmp_path, name).read_text() == PLAIN, "the file stays as it is"
    ended = dispatchviz("diff", "--what-if", "5: enable_grad", "--what-if", "6: skip", name, cwd=tmp_path)
    assert ended.out.startswith("What if line 5: enable_grad; line 6: skip\n")
    assert ended.err == "torch.Size([2])\n"


def test_whatif_reports_the_error_of_the_changed_run(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\n")
    ended = dispatchviz("diff", "--what-if", "3: no_grad", name, cwd=tmp_path)
    assert ended.status == 1
    assert "An error ends the program in the changed run\n" in ended.out
    assert "element 0 of tensors does not require grad and does not have a grad_fn" in " ".join(ended.out.split())


def test_whatif_uses_autocast_for_the_device(tmp_path: Path) -> None:
    name = script(tmp_path, FUNCTION.replace("requires_grad=True", 'device="cuda"'))
    ended = dispatchviz("diff", "--what-if", "8: autocast", name, cwd=tmp_path)
    assert ended.out.startswith("What if line 8: autocast cuda\n")


def test_whatif_reports_bad_input_in_one_line(tmp_path: Path) -> None:
    name, broken = script(tmp_path, PLAIN), script(tmp_path, "import torch\nx = (\n", "broken.py")
    assert dispatchviz("trace", "--save", "t.dvtrace", name, cwd=tmp_path).status == 0
    for change, programs, says in (
        ("no_grad", [name], "'no_grad' is no change: write LINE: CHANGE, for example 'line 6: no_grad'"),
        ("5: nograd", [name], "there is no change 'nograd'; the changes are no_grad, enable_grad"),
        ("2: no_grad", [name], "line 2: no_grad: the line has no statement"),
        ("5: device cuda w", [name], "the line does not read w; names on it are torch, x, y and z"),
        ("5: skip", [name, name], "runs one SCRIPT"),
        ("5: skip", ["--classics", name], "runs one SCRIPT"),
        ("5: skip", ["-"], "- can be read only once"),
        ("5: skip", ["none.py"], "there is no file none.py"),
        ("5: skip", ["t.dvtrace"], "is a saved trace"),
        ("2: skip", [broken], "broken.py, line 2: SyntaxError"),
    ):
        assert says in refused("diff", "--what-if", change, *programs, cwd=tmp_path)


def test_recording_and_model_are_compared_by_common_events(tmp_path: Path) -> None:
    name = script(tmp_path, PLAIN, "plain.py")
    dispatchviz("trace", "--save", "model.dvtrace", name, cwd=tmp_path)
    trace = Trace.load(tmp_path / "model.dvtrace")
    header = msgspec.structs.replace(trace.header, engine="torch", pytorch="2.13.0+cpu")
    Trace(header, tuple(trace)).save(tmp_path / "torch.dvtrace")
    ended = dispatchviz("diff", "model.dvtrace", "torch.dvtrace", cwd=tmp_path)
    assert ended.status == 0
    assert " ".join(ended.out.split()) == (
        "Two releases are compared: one run is on the model of PyTorch 2.14, and one is recorded on PyTorch "
        "2.13.0+cpu. Only what both record is compared, without numbers. PyTorch did what the model does."
    )
    other = script(tmp_path, NO_GRAD, "no_grad.py")
    ended = dispatchviz("diff", "torch.dvtrace", other, cwd=tmp_path)
    assert ended.status == 1
    assert "Python calls" not in ended.out

"""Tests with small programs that differ in one thing: the first divergence, and its text."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.difference_sentences import Run, said
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.explain.comparison.number_sentences import why_numbers

from .runs import compared, texts, texts_about, traced

PLAIN = """
    import torch
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2)
    z = torch.add(x, y)
    """


def under(guard: str) -> Comparison:
    """Return a comparison of the plain program with one whose last line is within a ``with``."""
    return compared(PLAIN, PLAIN.replace("    z =", f"    with {guard}:\n        z ="))


def test_no_grad_is_the_cause_of_the_missing_node() -> None:
    found = under("torch.no_grad()")
    assert not found.same
    assert texts(found) == [
        "only in B: grad mode off (torch.no_grad())",
        "AddBackward0 in A, no Node in B: grad mode is off",
    ]
    assert texts_about(found).text == (
        "Only in B: torch.no_grad() switches grad mode off. The autograd kernels still run, but they record no Nodes "
        "until it is on again."
    )
    assert found.numbers is None


def test_inference_mode_removes_the_key_from_the_set() -> None:
    found = under("torch.inference_mode()")
    assert texts(found)[:2] == [
        "only in B: guard InferenceMode",
        "aten::add.Tensor goes to AutogradCPU in A, CPU in B",
    ]
    text = texts_about(found, found.divergences[1]).text
    assert "AutogradCPU: x and y are CPU tensors" in text
    assert "In B it is not in the key set: the guard InferenceMode excludes it because inference mode is on." in text
    assert text.endswith("From VariableType::add_Tensor the call goes on (step 77 in A) to CPU, as in B.")


def test_autocast_calls_the_same_operator_below_its_layer() -> None:
    plain = """
        import torch
        x = torch.ones(2, 2)
        h = torch.mm(x, x)
        """
    found = compared(plain, plain.replace("h =", 'with torch.autocast("cpu"):\n            h ='))
    assert texts(found)[:2] == [
        "only in B: autocast for cpu on (bfloat16)",
        "aten::mm goes to AutogradCPU in A, AutocastCPU in B",
    ]
    text = texts_about(found, found.divergences[1]).text
    assert "In A it is not in the key set: the thread-local exclude set has it while autocast is off." in text
    below = found.divergences[1].main.below
    assert below is not None
    inner = found.second[below[1]]
    assert isinstance(inner, ev.Dispatched)
    assert (inner.operator, inner.key) == ("aten::mm", "AutogradCPU")
    assert text.endswith(f"the call goes on (step {inner.seq} in B) to AutogradCPU, as in A.")
    assert found.numbers is None, "of another dtype they cannot be the same, and the way says so"


def test_vmap_calls_the_same_operator_below_its_layer() -> None:
    plain = """
        import torch
        x = torch.ones(2, 3)
        z = torch.add(x, x)
        """
    found = compared(plain, plain.replace("torch.add(", "torch.vmap(torch.add)("))
    assert texts(found) == ["only in B: vmap level 1 begins"]
    assert any(
        each.below is not None and found.second[each.second or 0].seq < each.below[1]
        for each in found.divergences[0].further
    )


def test_other_device_selects_another_kernel() -> None:
    plain = """
        import torch
        x = torch.ones(2, device="cpu")
        z = torch.add(x, x)
        """
    found = compared(plain, plain.replace('"cpu"', '"cuda"'))
    assert texts(found) == [
        "torch.ones(2, device=cpu) in A, torch.ones(2, device=cuda) in B",
        "aten::add.Tensor goes to AutogradCPU in A, AutogradCUDA in B",
    ]
    text = texts_about(found, found.divergences[1]).text
    assert "AutogradCPU in A: x is a CPU tensor" in text
    assert "AutogradCUDA in B: x is a CUDA tensor" in text
    assert found.numbers is None, "both computed the same"


def test_flipped_requires_grad_is_the_cause() -> None:
    found = compared(PLAIN, PLAIN.replace("requires_grad=True", "requires_grad=False"))
    assert texts(found) == [
        "torch.ones(2, requires_grad=True) in A, torch.ones(2) in B",
        "AddBackward0 in A, no Node in B: no input requires grad",
    ]
    assert "neither x nor y requires grad" in texts_about(found, found.divergences[1]).text


def test_only_one_of_two_in_place_variants_raises() -> None:
    plain = """
        import torch
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y * y
        y = y + 1
        z.sum().backward()
        """
    found = compared(plain, plain.replace("y = y + 1", "y.add_(1)"))
    assert texts(found)[0] == "y + 1 in A, y.add_(1) in B"
    first = found.divergences[0]
    called = next(each for each in first.further if isinstance(found.first[each.first or 0], ev.Dispatched))
    assert said(Run(found.first, "in A"), Run(found.second, "in B"), called).text == (
        "The operator called is aten::add.Tensor in A, aten::add_.Tensor in B. In B it writes to y in place: its "
        "version goes from 0 to 1."
    )
    assert isinstance(found.second[-1], ev.ProgramRaised)
    assert not isinstance(found.first[-1], ev.ProgramRaised)


def test_error_is_the_main_difference_of_its_line() -> None:
    plain = """
        import torch
        x = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            x.add_(1)
        """
    found = compared(plain, plain.replace("with torch.no_grad()", "if True"))
    assert texts(found)[1].startswith("only in B: RuntimeError: a leaf Variable that requires grad")


def test_moved_lambda_is_the_same_kernel() -> None:
    plain = """
        import torch
        lib = torch.library.Library("mylib", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")
        torch.ops.mylib.f(torch.ones(2))
        """
    found = compared(plain, plain.replace("import torch", "import torch\n        # moved"))
    assert not [text for text in texts(found) if "lambda" in text]


def test_additional_registration_changes_the_kernel() -> None:
    plain = """
        import torch
        def twice(x):
            return x * 2
        lib = torch.library.Library("mylib", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", twice, "CompositeExplicitAutograd")
        x = torch.ones(2)
        z = torch.ops.mylib.f(x)
        """
    found = compared(plain, plain.replace("        x =", '        lib.impl("f", lambda x: x * 2, "CPU")\n        x ='))
    assert texts(found)[0] == "only in B: impl mylib::f CPU: <lambda> at <stdin>:7"
    assert "the kernel of mylib::f for CPU is twice in A, <lambda> at <stdin>:7 in B" in texts(found)


def test_additional_iteration_is_the_last_one() -> None:
    plain = """
        import torch
        x = torch.ones(3)
        for i in range(3):
            x = x * 2
        """
    found = compared(plain, plain.replace("range(3)", "range(4)"))
    assert texts(found) == ["the line runs here only in B"]
    lines = found.second.steps_of(ev.SourceLine)
    assert found.divergences[0].main.second == lines[-1]
    assert found.numbers is None, "the iterations before are the same"
    assert found.edit is not None, "the line of the for was changed"


def test_other_values_take_the_same_way() -> None:
    found = compared("import torch\nx = torch.ones(2) * 2", "import torch\nx = torch.ones(2) * 3")
    assert found.same_way
    assert not found.same
    assert [each.main.sort for each in found.divergences] == ["values"]
    assert found.numbers is not None


def test_difference_of_numbers_only_is_reported() -> None:
    first, second = (
        "import torch\nx = torch.tensor([1.0, 2.0])\ny = x.exp()".replace("2.0", n) for n in ("2.0", "3.0")
    )
    found = compared(first, second)
    assert found.same_way
    assert found.numbers is not None


@pytest.mark.parametrize(("seeds", "says"), [(("0", "1"), False), ((None, None), True)])
def test_different_numbers_begin_at_a_random_operator(seeds: tuple[str | None, str | None], says: bool) -> None:
    def program(seed: str | None, draws: int) -> str:
        begin = f"torch.manual_seed({seed})" if seed else "torch.get_rng_state()"
        return f"import torch\n{begin}\n" + "torch.rand(2)\n" * draws + "x = torch.randn(2)\n"

    found = compared(program(seeds[0], 0), program(seeds[1], 0 if seeds[0] else 1))
    at = found.numbers
    assert at is not None
    if at.first is not None and at.second is not None:
        text = why_numbers(found.first, found.second, at.first, at.second, "in A", "in B")
        assert "aten::normal_ draws random numbers" in text
        assert ("Neither program calls manual_seed" in text) == says
        assert ("the model starts each run with the same seed" in text) == says


def test_equivalent_programs_do_not_differ() -> None:
    one = "import torch\nx = torch.ones(3)\ny = (x * 2 + 1).sum()\n"
    other = "import torch\n\nx = torch.ones(3)  # ones\ny = x * 2\ny = y + 1\nz = y.sum()\nprint('done')\n"
    found = compared(one, other)
    assert found.same
    assert found.output is not None


def test_numbers_of_tensors_and_nodes_are_not_compared() -> None:
    one = "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\n"
    before = "from torch import ones, mul\nw = ones(3, requires_grad=True)\nmul(w, w)\n"
    found = compared(one, before + one)
    assert all(each.main.first is None for each in found.divergences)
    assert {found.second[each.lines[1]].line for each in found.divergences} == {2, 3}  # type: ignore[index, union-attr]


def test_numbers_are_not_compared_without_hashes() -> None:
    programs = [f"import torch\ntorch.manual_seed({seed})\nx = torch.randn(2)" for seed in (1, 2)]
    found = compare(*(traced(program, hashes=False) for program in programs))
    assert found.same
    assert not found.hashed


def test_two_empty_programs_do_not_differ() -> None:
    assert compared("", "").same
    assert not compared("", "import torch\ntorch.ones(2)").same

"""Tests of ``why --error`` with pasted texts: tracebacks and logs in the form of real reports, and other unusual
texts.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.explain.diagnosis.messages.table import found_in, pasted
from tests.cli.command import dispatchviz, refused

NOTEBOOK = """
My model worked with MNIST, now I use CIFAR and the cell stops:

---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
<ipython-input-14-3a5c> in <module>()
     12     optimizer.zero_grad()
---> 13     out = net(images)

/usr/local/lib/python3.10/dist-packages/torch/nn/modules/linear.py in forward(self, input)
    114         return F.linear(input, self.weight, self.bias)

RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x3072 and 784x128)
"""

GAN = """
Hi, two optimizers, the second backward raises since I moved to 1.5:

  File "gan.py", line 88, in train
    loss_g.backward()
  File "/opt/conda/lib/python3.8/site-packages/torch/autograd/__init__.py", line 145, in backward
    Variable._execution_engine.run_backward(
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation:
[torch.cuda.FloatTensor [512, 1]], which is output 0 of AsStridedBackward0, is at version 2; expected version 1
instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient.
"""

RANKS = """
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/me/train.py", line 41, in main
[rank1]:     logits = model(ids, mask)
[rank1]: RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and
[rank1]: cpu! (when checking argument for argument index in method wrapper_CUDA__index_select)
"""

CLASSES = """
> On the GPU I only get this:
>
> ../aten/src/ATen/native/cuda/Loss.cu:242: nll_loss_forward_reduce: block: [0,0,0], thread: [3,0,0] Assertion failed.
> RuntimeError: CUDA error: device-side assert triggered
> CUDA kernel errors might be asynchronously reported at some other API call.

On the CPU it says IndexError: Target 10 is out of bounds. What is target 10?
"""

PYTEST = """
    def test_step():
>       loss.backward()
E       RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they
E       have already been freed). Saved intermediate values of the graph are freed when you call .backward().
tests/test_step.py:12: RuntimeError
"""


def kinds(text: str) -> list[str]:
    return [each.message.kind for each in found_in(pasted(text))]


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        (NOTEBOOK, ["matrices do not fit"], "mat1 has 3072 columns; mat2 has 784 rows."),
        (GAN, ["saved tensor changed"], "saved at version 1 and is at version 2 now"),
        (RANKS, ["two devices"], "One tensor is on cuda:1; another is on cpu."),
        (CLASSES, ["CUDA assertion", "class out of bounds"], "A GPU kernel found an invalid value"),
        (PYTEST, ["second backward"], "The Nodes released their saved tensors"),
    ],
    ids=["notebook", "gan", "ranks", "classes", "pytest"],
)
def test_message_in_a_real_report_is_explained(text: str, kind: list[str], says: str) -> None:
    found = found_in(pasted(text))
    assert [each.message.kind for each in found] == kind
    assert says in found[0].why


def test_explanation_has_three_parts_and_an_example(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(NOTEBOOK)
    lines = dispatchviz("why", "--error", "log", cwd=tmp_path).out.splitlines()
    assert lines[0].startswith("why           mat1 has 3072 columns; mat2 has 784 rows.")
    begin = [line.partition("  ")[0] for line in lines if not line.startswith(" ")]
    assert begin == ["why", "PyTorch says", "try", "see"]
    assert lines[-1] == "see           dispatchviz why examples/errors/matrices_do_not_fit.py"


def test_each_of_several_messages_is_explained_once(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(PYTEST + CLASSES + PYTEST)
    found = json.loads(dispatchviz("why", "--error", "log", "--json", cwd=tmp_path).out)["messages"]
    assert [each["kind"] for each in found] == ["second backward", "CUDA assertion", "class out of bounds"]
    assert found[2] == {
        "kind": "class out of bounds",
        "diagnosis": "indices: class out of range",
        "why": found[2]["why"],
        "PyTorch says": "Target 10 is out of bounds. What is target 10?",
        "values": {"target": "10"},
        "try": found[2]["try"],
        "see": "dispatchviz why examples/errors/class_out_of_bounds.py",
        "kernel": None,
    }


def test_message_in_a_string_literal_is_explained() -> None:
    logged = r'{"error": "RuntimeError: \"log_softmax\" not implemented for \'Half\'\n  File ..."}'
    assert kinds(logged) == ["kernel not for this dtype"]


def test_two_cases_of_one_message_keep_their_values() -> None:
    text = "index 5 is out of bounds for dimension 0 with size 3\nindex 7 is out of bounds for dimension 0 with size 3"
    assert [each.values["index"] for each in found_in(text)] == ["5", "7"]


def test_longer_of_two_matching_messages_is_chosen() -> None:
    text = "a view of a leaf Variable that requires grad is being used in an in-place operation."
    assert kinds(text) == ["view of a leaf in place"]


def test_text_without_a_known_message_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("ZeroDivisionError: division by zero")
    ended = dispatchviz("why", "--error", str(tmp_path / "log"))
    assert ended.status == 2
    assert "found no known error in" in ended.err
    assert "docs/lists/messages.md lists the 2" in ended.err
    assert "cannot read" in refused("why", "--error", str(tmp_path / "nope"))

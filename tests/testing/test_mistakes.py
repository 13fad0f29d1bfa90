"""The reports of tests that fail because of typical mistakes: the first 30 lines say what to fix, on both engines."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "mistakes"
ROOM = 30
"""The number of lines in which a report must say it."""

FORMULA = 'try  Give it a formula: torch.library.register_autograd("mylib::double", backward, setup_context=...).'
SAYS = {
    "test_kernel_for_the_wrong_key": (
        "why  mylib::halve on line 12 (ops.halve(torch.ones(3))) has no kernel for CPU, ",
        "It has kernels for CUDA.",
        "try  Register a kernel for CPU: Library.impl('halve', function, 'CPU').",
    ),
    "test_no_formula": (
        "got       Sum → Mul → AccumulateGrad(x)",
        "why  mylib::double has no kernel for the Autograd keys. PyTorch's fallback only passes the call on, ",
        FORMULA,
    ),
    "test_no_fallthrough": (
        "got       AutogradCPU → CPU",
        'try  If it has no derivative: library.impl("count", torch.library.fallthrough_kernel, "Autograd").',
    ),
    "test_kernel_of_another_key": (
        "shift_toy did not run under PrivateUse1",
        "mylib::shift, which has it, ran: ",
        "shift_cpu under CPU",
    ),
    "test_changed_log": (
        "double.log differs first at line 4",
        "expected  node GeneratedBackwardFor_mylib_double_defaultBackward",
        "pytest --dispatchviz-accept 'test_mylib.py::test_changed_log' accepts it",
        FORMULA,
    ),
    "test_kernel_writes_to_its_input": (
        "why  ExpBackward0, made on test_mylib.py, line 43 (y = x.exp()), saved ",
        "mylib.py, line 34 (return x.mul_(2)) then changed ",
        "try  Write to a copy: ",
    ),
}
"""The texts in the report of each test."""


def _reports(pytester: pytest.Pytester, engine: str) -> dict[str, list[str]]:
    """Return the first lines of each test's report."""
    for name in ("mylib.py", "double.log"):
        shutil.copy(FOLDER / name, pytester.path / name)
    shutil.copy(FOLDER / "failing.py", pytester.path / "test_mylib.py")
    shown = pytester.runpytest_subprocess("-p", "no:cacheprovider", f"--dispatchviz-engine={engine}").stdout.str()
    failures, *_ = re.split(r"^=+ (?:short test|warnings) summary", shown, flags=re.MULTILINE)
    _, *parts = re.split(r"^_+ (test_\w+) _+$", failures, flags=re.MULTILINE)
    return {name: text.splitlines()[:ROOM] for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _check(reports: dict[str, list[str]]) -> None:
    assert reports.keys() == SAYS.keys()
    for name, texts in SAYS.items():
        report = "\n".join(reports[name])
        assert [text for text in texts if text not in report] == [], report
        own = re.findall(r"^\S*(?:dispatchviz|torch)/\w\S*\.py:\d+: ", report, re.MULTILINE)
        assert own == [], report


def test_reports_say_what_to_fix_on_the_model(pytester: pytest.Pytester) -> None:
    _check(_reports(pytester, "model"))


@pytest.mark.torch
def test_reports_say_what_to_fix_on_an_installed_pytorch(pytester: pytest.Pytester) -> None:
    _check(_reports(pytester, "torch"))

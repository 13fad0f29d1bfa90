"""The cost of the fixture ``dispatch_trace`` to a test of three operators, compared with the same test without it.

    python -m benchmarks.fixture

Two test files hold many such tests, with and without the fixture. Each file is a pytest process of its own, measured in
processor time; the time that pytest needs for an empty file is subtracted, and the smallest round counts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.processes import smallest
from benchmarks.sizes import judge, often

ROUNDS, TESTS = often(5, 1), often(400)
HEAD = "import pytest\nfrom dispatchviz import torch\n"
TEST = """
@pytest.mark.parametrize("number", range({tests}))
def test_three_operators(number{fixture}):
    x = torch.ones(2, 2, requires_grad=True)
    assert ((x * 2).exp() + x).requires_grad
"""
BARS = {"a test of three operators, of one without it": 3.2}


def main() -> int:
    """Print the milliseconds of a test and the ratio, and return 1 if the bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        commands = {}
        for name, fixture in {"none": None, "plain": "", "traced": ", dispatch_trace"}.items():
            path = Path(folder) / f"test_{name}.py"
            tests = (
                "\ndef test_nothing():\n    pass\n" if fixture is None else TEST.format(tests=TESTS, fixture=fixture)
            )
            path.write_text(HEAD + tests, encoding="utf-8")
            commands[name] = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        found = smallest(commands, ROUNDS)
    plain, traced = (found[name] - found["none"] for name in ("plain", "traced"))
    print(f"  {plain / TESTS * 1000:.2f} ms without the fixture, {traced / TESTS * 1000:.2f} ms with it")
    return judge({"a test of three operators, of one without it": traced / plain}, BARS)


if __name__ == "__main__":
    sys.exit(main())

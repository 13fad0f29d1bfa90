"""Parts of torch that a watched program imports by name."""

from __future__ import annotations

import io
from pathlib import Path
from textwrap import dedent

import pytest

from dispatchviz.core.record.events import Printed
from dispatchviz.running.program import run

PROGRAMS = {
    "the module of a function leaves the function where it is": (
        """
        from torch.autograd.gradcheck import GradcheckError, gradcheck
        import torch
        import torch.autograd.gradcheck
        print(torch.autograd.gradcheck is gradcheck, issubclass(GradcheckError, RuntimeError))
        """,
        "True True\n",
    ),
    "handles of hooks are pickled and copied with what they belong to": (
        """
        import copy, pickle, torch
        m = torch.nn.Linear(1, 1)
        handle = m.register_forward_hook(print)
        again = pickle.loads(pickle.dumps(handle))
        m2, other = copy.deepcopy((m, handle))
        other.remove()
        print(again.id == handle.id, len(m._forward_hooks), len(m2._forward_hooks))
        """,
        "True 1 0\n",
    ),
    "a warning of a legacy constructor is on the user's line": (
        """
        import numpy, torch, warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.FloatTensor([numpy.ones(2), numpy.ones(2)])
        print(caught[0].filename == __file__, caught[0].lineno)
        """,
        "True 4\n",
    ),
    "the package functorch is the model's": (
        """
        import functorch, torch, warnings
        from functorch import make_functional
        from torch.utils.weak import WeakIdKeyDictionary
        from torch.utils._mode_utils import no_dispatch
        from torch.utils import swap_tensors
        from torch.utils.benchmark import Timer
        from torch.testing import make_tensor
        warnings.simplefilter("ignore")
        print(functorch.__version__ == torch.__version__, functorch.vmap(torch.neg)(torch.ones(2)).tolist())
        """,
        "True [-1.0, -1.0]\n",
    ),
}
"""Name to program and what PyTorch 2.13 prints."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_print_what_they_print_in_pytorch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(dedent(program).lstrip())
    outcome = run("p.py", (), io.StringIO())
    assert "".join(event.text for event in outcome.trace if isinstance(event, Printed)) == expected

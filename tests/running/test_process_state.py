"""A program leaves nothing in the machine: afterwards all methods, functions and switches of modules are the original
ones.
"""

from __future__ import annotations

import io
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import dispatchviz.torch  # noqa: F401  which loads what there is
from dispatchviz.core.autograd.engine import engine
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.device import streams
from dispatchviz.running.program import run
from tests.exchangeable import exchangeable

LEFT = {
    "a second stream": """
        s = torch.cuda.Stream()
        with torch.cuda.stream(s):
            x = torch.ones(2, device="cuda", requires_grad=True)
            (x * x).sum().backward()
        """,
    "an open function mode": """
        from torch.overrides import TorchFunctionMode
        class Mode(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))
        Mode().__enter__()
        torch.ones(2) + 1
        """,
    "an open dispatch mode": """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))
        Mode().__enter__()
        torch.ones(2) + 1
        """,
    "saved-tensor hooks": """
        torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
        torch.ones(2, requires_grad=True).exp()
        """,
    "switches": """
        torch.autograd.set_detect_anomaly(True)
        torch.set_grad_enabled(False)
        torch.inference_mode().__enter__()
        torch.autocast("cpu").__enter__()
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        torch.set_warn_always(True)
        torch.backends.mha.set_fastpath_enabled(False)
        torch._C._set_autograd_fallback_mode("nothing")
        torch.utils.checkpoint.set_checkpoint_early_stop(False).__enter__()
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        """,
    "transforms": """
        torch._C._functorch._vmap_increment_nesting(2, "error")
        torch.autograd.forward_ad.enter_dual_level()
        """,
    "a second thread": """
        import threading
        x = torch.ones(2, requires_grad=True)
        thread = threading.Thread(target=lambda: (x * x).sum().backward())
        thread.start()
        thread.join()
        """,
    "an interrupted backward": """
        x = torch.ones(2, requires_grad=True)
        def hook(g):
            raise KeyboardInterrupt
        x.register_hook(hook)
        (x * x).sum().backward()
        """,
}
COUNTS_ON = {"dispatchviz.core.thread.thread_state._threads": "threads keep their numbers"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", LEFT)
def test_state_that_a_program_leaves_behind_is_restored(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text("import torch\n" + dedent(LEFT[what]))
    before = exchangeable()
    ended = run("p.py", (), io.StringIO())
    assert "Interrupt" in type(ended.error).__name__ if "interrupt" in what else ended.error is None, (
        ended.error_message
    )
    after = exchangeable()
    changed = {name: (value, after.get(name)) for name, value in before.items() if after.get(name) is not value}
    assert {name: pair for name, pair in changed.items() if name not in COUNTS_ON and pair[0] != pair[1]} == {}


def test_engine_checks_no_streams_before_a_second_one() -> None:
    def chosen() -> tuple[Any, ...]:
        return Node.add_input_metadata, engine._evaluate, engine._add

    at_first = chosen()  # another test of this process may have made a second stream
    before = streams.exchange_state()
    try:
        alone = chosen()
        streams.from_pool(0)
        assert all(one is not other for one, other in zip(chosen(), alone, strict=True))
    finally:
        streams.exchange_state(before)
    assert chosen() == at_first

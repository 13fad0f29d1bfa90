"""The memory that a trace shows at each line is what an installed PyTorch keeps, for both engines and many programs."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.kept_memory import KeptMemory, kept_memory
from dispatchviz.explain.graph.memory.saved_lives import End
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
from tests.amounts import some
from tests.explain.memory.observed_memory import AtLine, Lines, observed
from tests.live.live_programs import PROGRAMS as LIVE
from truth.programs import PROGRAMS

pytestmark = pytest.mark.torch

LEARNING = [name for name, text in PROGRAMS.items() if "requires_grad" in text or "nn." in text]
"""The programs that may save tensors."""

CHECKPOINT = "the model's checkpoint keeps its inputs itself, and not by the Node _NoopSaveInputs"

DIFFERENT = {
    "checkpoint_mistakes": CHECKPOINT,
    "checkpoint_without_reentrance": CHECKPOINT,
    "checkpoints_keep_random_numbers": CHECKPOINT,
    "saved_hooks_of_checkpoint_and_later_writes": CHECKPOINT,
    "function_saved_tensors_read_once": "clear_saved_tensors_on_access has no event",
    "transformed_distributions": "Python reports the line of a for statement at each iteration",
}
"""The programs for which the model differs, and the reasons."""


UNLIKE = {
    "embedding_bag_modes": "its kernel makes max_indices larger without a call",
    "saved_and_written_past_the_version": "n.data = m calls no kernel, so n seems to be on its first storage",
    "packed_lstm_and_gru": "a kernel keeps the whole of one storage to itself and returns a part",
    "functional_tensor_gradient": "a functional tensor has a storage without memory",
    "checkpoint_mistakes": "the Node _NoopSaveInputs is not met, because no result of it gets a name",
    "function_dirty_and_saved": "the Function returns its argument, which has another Node already",
}
"""The programs for which a recording differs, and the reasons."""


def traced(folder: Path, source: str, engine: str) -> Trace:
    file = folder / "script.py"
    file.write_text(source)
    return program.run(str(file), output=io.StringIO(), engine=engine_named(engine)).trace


def shown(trace: Trace) -> Iterator[tuple[tuple[int, int], AtLine, KeptMemory, int]]:
    """Yield the state that a trace shows at each line of the top level: line and count, state, memory, step."""
    known, times = kept_memory(trace), Counter[int]()
    numbers = {made.storage for made in map(trace.__getitem__, trace.steps_of(ev.TensorCreated)) if is_number(made)}
    for step in trace.steps_of(ev.SourceLine):
        line = trace[step]
        if isinstance(line, ev.SourceLine) and not line.function and not line.resumed:
            times[line.line] += 1
            kept = [storage for storage in known.living(step) if storage not in numbers and known.sizes[storage]]
            names = {known.variable(trace, storage, step): known.sizes[storage] for storage in kept}
            own = {name: size for name, size in names.items() if name.isidentifier()}
            yield (line.line, times[line.line]), AtLine(sorted(map(known.sizes.__getitem__, kept)), own), known, step


def is_number(made: ev.AnyEvent) -> bool:
    return isinstance(made, ev.TensorCreated) and made.wrapped_number


@cache
def of_pytorch(source: str) -> Lines:
    torch: Any = installed_torch()
    torch.manual_seed(0)
    return observed(torch, source)


@pytest.mark.parametrize("name", some([name for name in LEARNING if name not in DIFFERENT], 25))
def test_the_model_keeps_what_pytorch_keeps(name: str, tmp_path: Path) -> None:
    source = f"{PROGRAMS[name]}\nend = True\n"
    lines = of_pytorch(source)
    both = [(at, lines[at], state) for at, state, _, _ in shown(traced(tmp_path, source, "model")) if at in lines]
    assert both
    for at, expected, state in both:
        assert state.sizes == expected.sizes, at
        assert state.variables.items() <= expected.variables.items(), at


@pytest.mark.parametrize("name", [*some([name for name in LEARNING if name not in UNLIKE], 60), *some(list(LIVE), 8)])
def test_a_recording_shows_what_pytorch_keeps(name: str, tmp_path: Path) -> None:
    source = f"{PROGRAMS.get(name) or LIVE[name]}\nend = True\n"
    lines = of_pytorch(source)
    trace = traced(tmp_path, source, "torch")
    hidden = "torch::autograd::CopySlices" in trace.columns.name_texts  # it does not hand out its inner Node
    is_complete = not hidden and "make_dual" not in source  # saved results of dual tensors cannot be read
    for at, state, known, step in shown(trace):
        if at not in lines:
            continue
        perhaps = [life.storage for life in known.lives if life.why is End.UNSEEN and life.end <= step]
        kept, expected = Counter(state.sizes), Counter(lines[at].sizes)
        assert kept <= expected, at
        assert not is_complete or expected - kept <= Counter(map(known.sizes.__getitem__, perhaps)), at
        assert state.variables.items() <= lines[at].variables.items(), at


LOOPS = """
import torch
w = torch.ones(100, requires_grad=True)
kept = []
for i in range(4):
    loss = (w * i).exp().sum()
for i in range(4):
    loss = (w * i).exp().sum()
    kept.append(loss)
(w * 2).exp().sum().backward()
end = True
"""


def test_a_loop_without_backward_grows_only_if_a_list_keeps_the_losses(tmp_path: Path) -> None:
    def totals(engine: str) -> list[list[int]]:
        return [state.sizes for _, state, _, _ in shown(traced(tmp_path, LOOPS, engine))]

    recorded = totals("torch")
    assert recorded == totals("model")
    assert [400] * 4 in (recorded[-1], recorded[-2]), "the four losses in the list"
    assert max(map(len, recorded[:9])) == 1

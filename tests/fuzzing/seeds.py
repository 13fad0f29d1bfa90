"""Real traces to damage: small programs that together have every kind of event, examples, and a file of an old
format.
"""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from dispatchviz.core.record.trace_file import FORMAT
from dispatchviz.running.program import run
from truth.programs import PROGRAMS

SMALL = (
    "function_without_forward", "vmap_bad_view_as_complex", "dual_levels_do_not_nest", "random_meta_tensors",
    "function_non_differentiable_leaf_of_its_own", "add_out_wrong_size_warns", "hardsigmoid_slope_is_a_float",
    "autocast_double_meets_float_error", "conj_inference", "backward_from_leaf", "add_out_under_no_grad", "vmap_sin",
    "saved_hooks_history_of_what_is_unpacked", "function_non_differentiable_input", "inference_mode_add",
    "grad_of_one_operand", "svd_nan", "decorated_without_parentheses", "autocast_nested_dtypes_error",
)  # fmt: skip
"""Programs with at most about 300 events each."""

LARGER = (
    "saved_hooks_in_backward", "function_hooks", "view_of_a_function", "forward_mode_under_no_grad",
    "function_gradient_of_a_broadcast", "func_grad_several", "autograd_backward_two_roots", "vmap_parts",
    "a_hook_of_a_fallback_on_a_stale_view", "hook_asks_what_will_run", "function_dirty_and_saved", "vmap_over_grad",
    "autocast_no_grad_then_grad", "tangent_of_view_through_base", "cross_entropy_image", "saved_hooks_inner_wins",
    "post_accumulate_hook_without_gradient", "anomaly_nan_of_second_output", "function_pure_view",
    "linalg_solve_singular",
)  # fmt: skip
"""Programs with at most about 700 events each."""

STREAMS = """
import warnings
import torch
warnings.simplefilter("always")
warnings.warn("so")
x = torch.ones(2, device="cuda", requires_grad=True)
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    y = x * 2
torch.cuda.current_stream().wait_stream(side)
y.record_stream(torch.cuda.current_stream())
y.sum().backward()
del y
"""
"""A program with streams. No program recorded on PyTorch has streams, because the recording machine has no GPU."""

MEMBERS = """
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda gradient: gradient * 2).remove()
x.grad = torch.ones(2)
y.grad_fn._set_sequence_nr(7)
with torch.autograd.set_detect_anomaly(True):
    torch.autograd.grad((x * x).sum(), x, create_graph=True)
x.register_hook(lambda gradient: torch.autograd.Variable._execution_engine.queue_callback(lambda: None))
(x * 2).sum().backward()
torch.nn.Tanh()(x)
"""
"""A program that sets members of a Node after its creation. No recorded program sets all of them."""

EXAMPLES = ("broadcast", "custom_operator", "collective_overlap", "logging_mode", "in_place_on_leaf")

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "data" / "trace_of_format_1.jsonl.gz"
COMPILED = ROOT / "tests" / "data" / "trace_of_compile.jsonl.gz"
"""A recording of an installed PyTorch that compiles."""

COLLECTIVE = (
    b"""{"format":%d,"cuda":"","program":"x.py"}
["CollectiveCalled",0,null,"c10d::allreduce_","default",[0,1],1,3,49,"float32",-1,1000000000000000000]
"""
    % FORMAT
)
"""A trace of a distributed program."""


def seeds() -> list[bytes]:
    """Return the traces as JSON Lines, the small ones first."""
    with tempfile.TemporaryDirectory() as folder:
        streams = _trace_of_source(Path(folder) / "streams.py", STREAMS, more=True)
        members = _trace_of_source(Path(folder) / "members.py", MEMBERS)
    examples = (_trace(ROOT / f"examples/{name}.py") for name in EXAMPLES)
    others = gzip.decompress(COMPILED.read_bytes()), COLLECTIVE
    return [*some_seeds(SMALL), *some_seeds(LARGER)[:-1], streams, *examples, members, *others]


def some_seeds(names: Sequence[str]) -> list[bytes]:
    """Return the traces of some programs, and the old file."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_programs(Path(folder), names), gzip.decompress(OLD.read_bytes())]


def _programs(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    for name in names:
        yield _trace_of_source(folder / f"{name}.py", PROGRAMS[name])


def _trace_of_source(script: Path, source: str, more: bool = False) -> bytes:
    script.write_text(source, "utf-8")
    return _trace(script, more)


def _trace(script: Path, more: bool = False) -> bytes:
    """Return the trace of a script; with ``more``, including the optional data of a recording."""
    with warnings.catch_warnings():
        return run(str(script), (), io.StringIO(), b"", hashes=more, values=16 if more else 0).trace.encoded()

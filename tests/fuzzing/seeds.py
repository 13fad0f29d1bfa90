"""Real traces to damage: small programs that together have every kind of event, examples, a file of an old format."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from dispatchviz.program import run
from truth.programs import PROGRAMS

SMALL = (
    "function_without_forward", "vmap_bad_view_as_complex", "dual_levels_do_not_nest", "random_meta_tensors",
    "function_non_differentiable_leaf_of_its_own", "add_out_wrong_size_warns", "hardsigmoid_slope_is_a_float",
    "autocast_double_meets_float_error", "conj_inference", "backward_from_leaf", "add_out_under_no_grad", "vmap_sin",
    "saved_hooks_history_of_what_is_unpacked", "function_non_differentiable_input", "inference_mode_add",
    "grad_of_one_operand", "svd_nan", "decorated_without_parentheses", "autocast_nested_dtypes_error",
)  # fmt: skip
"""Programs with at most some 300 events each."""

LARGER = (
    "saved_hooks_in_backward", "function_hooks", "view_of_a_function", "forward_mode_under_no_grad",
    "function_gradient_of_a_broadcast", "func_grad_several", "autograd_backward_two_roots", "vmap_parts",
    "a_hook_of_a_fallback_on_a_stale_view", "hook_asks_what_will_run", "function_dirty_and_saved", "vmap_over_grad",
    "autocast_no_grad_then_grad", "tangent_of_view_through_base", "cross_entropy_image", "saved_hooks_inner_wins",
    "post_accumulate_hook_without_gradient", "anomaly_nan_of_second_output", "function_pure_view",
)  # fmt: skip
"""Programs with at most some 700."""

EXAMPLES = ("broadcast", "custom_operator", "collective_overlap", "logging_mode", "in_place_on_leaf")

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "data" / "trace_of_format_1.jsonl.gz"


def seeds() -> list[bytes]:
    """The traces as JSON Lines, the small ones first."""
    return [*some_seeds(SMALL), *some_seeds(LARGER)[:-1], *(_trace(ROOT / f"examples/{name}.py") for name in EXAMPLES)]


def some_seeds(names: Sequence[str]) -> list[bytes]:
    """Those of some programs, and the old file."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_programs(Path(folder), names), gzip.decompress(OLD.read_bytes())]


def _programs(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    for name in names:
        script = folder / f"{name}.py"
        script.write_text(PROGRAMS[name], "utf-8")
        yield _trace(script)


def _trace(script: Path) -> bytes:
    return run(str(script), (), io.StringIO(), b"").trace.encoded()

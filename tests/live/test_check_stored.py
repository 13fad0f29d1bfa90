"""``make check-release``: stored programs on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli.check_runs import PHRASES, two_runs
from dispatchviz.live.snapshot import read_snapshot
from dispatchviz.views.cards.check_text import check_lines
from dispatchviz.views.text.console import Console
from scripts.check_stored import SAME, SNAPSHOT, both, grouped, together, verdict_of

pytestmark = [pytest.mark.torch, pytest.mark.long]


def test_stored_program_runs_on_both_engines_and_gets_a_verdict(tmp_path: Path) -> None:
    name = "truth/autocast_promote_error"
    both(tmp_path, [name])
    assert verdict_of(together()[name], tmp_path, read_snapshot(tmp_path / SNAPSHOT)) == (SAME, [])


NAMES = (
    "examples/errors/custom_operator_without_backward",
    "examples/errors/gradients_of_a_custom_operator",
    "examples/errors/missing_kernel",
    "examples/errors/no_handler_for_the_call",
    "examples/errors/no_torch_function",
    "examples/errors/result_aliases_an_input",
    "truth/asserting_closeness_of_two_dtypes",
    "truth/copying_parameters_and_bits",
    "truth/function_of_three_numbers",
    "truth/gn_no_elements",
    "truth/gn_strided",
    "truth/gradcheck_fast",
    "truth/hooks_log_what_runs",
    "truth/repeat_interleave_ways",
    "truth/root_gradient_of_other_dtype",
    "truth/rule_of_logits",
    "truth/same_root_twice",
    "truth/second_cumprod_zeros",
    "truth/set_says_no",
    "truth/stats_gradient_edges",
    "truth/stats_quantile_modes",
    "truth/stats_quantile_out",
    "truth/views_written_in_a_copy",
    "truth/vmap_native_dropout",
)
"""Programs that once differed, most of them in facts that their records in ``truth/records`` lack."""


def test_programs_that_once_differed_run_alike_in_one_recording() -> None:
    found = two_runs(grouped("once", map(together().__getitem__, NAMES)).program.script, ())
    assert found.same, "\n".join(check_lines(found, PHRASES, Console(100, False), every=True))

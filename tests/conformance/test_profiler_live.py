"""The export for Perfetto, compared with the output of ``torch.profiler`` for the same program."""

from __future__ import annotations

import io
import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.outputs.perfetto.trace_json import perfetto_chunks
from dispatchviz.running.program import run
from tests.amounts import in_turn
from tests.profiles import arrows, nested
from truth.observers.runs import in_new_thread
from truth.programs import PROGRAMS

EACH = 12
"""The step between the stored programs that are checked."""

torch = pytest.importorskip("torch")

BY_HAND = {
    "matrices": """\
import torch
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2, 2, requires_grad=True)
y = torch.mm(x, w)
(y + x).relu().sum().backward()
torch.cat([x, x * 2]).view(4, 2)[0].sum().backward()
""",
    "hooks": """\
import torch
def pre(grad):
    return grad * 2
def post(gradients, received):
    return tuple(None if grad is None else grad * 1 for grad in gradients)
x = torch.ones(2, 2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
y = x * b
y.register_hook(pre)
z = y + x
z.grad_fn.register_hook(post)
z.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
x.register_post_accumulate_grad_hook(lambda leaf: None if leaf.detach().mul(3).sum() else None)
z.sum().backward()
""",
    "training": """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    optimizer.zero_grad()
    out = net(torch.randn(5, 3))
    torch.nn.functional.cross_entropy(out, torch.tensor([0, 1, 0, 1, 1])).backward()
    optimizer.step()
""",
    "twice": """\
import torch
x = torch.ones(3, requires_grad=True)
g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
g.pow(2).sum().backward()
with torch.no_grad():
    x.add_(1)
with torch.inference_mode():
    x + 1
torch.ops.aten.add(x, x)
""",
}
"""Programs whose sizes and strides are compared too."""

REASONS = {
    "PyTorch calls operators in Python's part of it that the model computes without": """
        random_meta_tensors printing_dual_tensors initialisation_skipped relu_and_where_on_meta func_jvp_nested
        func_jvp_captured func_jvp_without_forward_grad func_jvp_of_grad func_jacfwd_several func_hessian
        zero_tensor_products zero_tensor_sums zero_tensor_gradient zero_tensor_as_grad functional_tensor_add_in_place
        dual_and_plain dual_in_place_gets_tangent forward_over_reverse reverse_then_forward dual_losses_backward
        dual_losses_zero_target dual_batch_norm_plain_input norm_twice layer_norm_tangent_partly
        softmax_backward_tangent tangent_of_view_as_real tangent_of_conj tangent_of_view_as_complex
        write_to_conj_tangent complex_g_mul_ complex_g_double complex_g_muls dual_level_as_decorator
        fft_forward_mode copying_tensors set_says_no pinned_and_shared saving_and_loading
        torch_function_subclass_is_not_copied_deeply asserting_closeness asserting_closeness_of_two_dtypes
        limits_of_dtypes refused_constructions
        embedding_bag_module module_reprs resized_bytes_at_edges gradcheck_of_exp gradgradcheck_of_product
        gradcheck_fast gradcheck_forward encoder_takes_padding_out distribution_parameter_mistakes
        anomaly_of_second_order grads_batched forward_of_layer_norm_backward forward_of_batch_norm_backward
        forward_of_nll_loss2d_backward nll_backward_tangent""",
    "the model has another kernel of convolution": """
        volumes_whose_channels_lie_together volumes_of_channels_last_with_a_bias
        volumes_under_weights_of_channels_last volumes_of_channels_last_under_weights volumes_by_groups
        volumes_under_a_kernel_of_one volumes_of_channels_last_by_groups sync_batch_norm""",
    "the trace does not show where a Function's apply, a call of a Node by hand or a module's hook begins": """
        function_jvp_in_place function_once_differentiable function_stale_view_as_an_input function_class_attributes
        function_jvp_refusals node_surface full_backward_hooks full_backward_hook_without_input_grad
        full_backward_hook_that_changes hook_multi_grad_leaf_with_grad_error saved_mutation_allowed
        saved_mutation_outside_error""",
    "the trace does not show the arguments of a function within CopySlices": """
        function_pure_view set_augmented_backward complex_i_real complex_d_complex_view_inplace""",
    "the numbers or the order of calls within a kernel differ": """
        adaptive_max_pool_all cosine_similarity_broadcast layer_norm_with_a_bias_alone_twice
        grad_of_interiors_on_one_path hook_retains_grad_of_captured""",
}
OTHERWISE = {name: reason for reason, names in REASONS.items() for name in names.split()}
"""Stored programs that differ -> the reason."""


@pytest.fixture(scope="module", autouse=True)
def _decompositions_are_loaded() -> None:
    """Load the decompositions, as PyTorch does when a tensor first has a tangent. The profiler records that."""
    with warnings.catch_warnings(), torch.autograd.forward_ad.dual_level():
        warnings.simplefilter("ignore")
        torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))


def written(source: str, folder: Path) -> list[dict[str, Any]]:
    """Return the events that the profiler writes, in a thread that has run nothing."""
    file = folder / "profile.json"

    def profiled() -> None:
        cpu = [torch.profiler.ProfilerActivity.CPU]
        # errors of the program are not compared
        with torch.profiler.profile(activities=cpu, record_shapes=True) as profile, suppress(BaseException):
            exec(compile(source, "source", "exec"), {"__name__": "__main__"})
        profile.export_chrome_trace(str(file))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # kernels that several threads share reduce in two steps
    try:
        in_new_thread(profiled)
    finally:
        torch.set_num_threads(threads)
    events: list[dict[str, Any]] = json.loads(file.read_text())["traceEvents"]
    return events


def exported(source: str, folder: Path) -> list[dict[str, Any]]:
    """Return the events that dispatchviz exports."""
    program = folder / "program.py"
    program.write_text(source)
    trace = run(str(program), (), io.StringIO()).trace
    events: list[dict[str, Any]] = json.loads(b"".join(perfetto_chunks(trace)))["traceEvents"]
    return events


@pytest.mark.parametrize("name", BY_HAND)
def test_names_nesting_numbers_and_sizes_are_the_profilers(name: str, tmp_path: Path) -> None:
    theirs, ours = written(BY_HAND[name], tmp_path), exported(BY_HAND[name], tmp_path)
    strides = name != "hooks"  # the trace does not show which of them a hook returned
    assert nested(ours, strides=strides) == nested(theirs, strides=strides)
    assert arrows(ours) == arrows(theirs) != []


@pytest.mark.pinned
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", in_turn(sorted(PROGRAMS), EACH))
def test_stored_programs_have_the_same_slices(name: str, tmp_path: Path) -> None:
    source = PROGRAMS[name]
    if name in OTHERWISE or "cuda" in source or "profiler" in source:
        pytest.skip(OTHERWISE.get(name, "of a GPU, or it watches itself"))
    theirs, ours = written(source, tmp_path), exported(source, tmp_path)
    assert nested(ours, sizes=False) == nested(theirs, sizes=False)
    assert arrows(ours) == arrows(theirs)

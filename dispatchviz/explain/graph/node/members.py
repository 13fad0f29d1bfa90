"""What each member of a Node is for, in a line, and the header of PyTorch that declares it.

A test looks every name up in that header of an installed PyTorch.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.explain.locations.pytorch_locations import NODE

METADATA = "torch/csrc/autograd/input_metadata.h"
ANOMALY = "torch/csrc/autograd/anomaly_mode.h"
EDGE = "torch/csrc/autograd/edge.h"
FUNCTION = "torch/csrc/autograd/function.h"
HOOK = "torch/csrc/autograd/function_hook.h"
VARIABLE = "torch/csrc/autograd/variable.h"
VARIADIC = "aten/src/ATen/core/Variadic.h"
POINTER = "c10/util/intrusive_ptr.h"
CONTEXT = "aten/src/ATen/Context.h"
COMPILED_AUTOGRAD = "torch/csrc/dynamo/compiled_autograd.h"
RECORD = "aten/src/ATen/record_function.h"


class Member(NamedTuple):
    """A member, or members that belong together."""

    name: str
    purpose: str
    file: str = NODE


NUMBERS = (
    Member("set_sequence_nr", "gives it another priority, e.g. for a collective that should overlap with the rest"),
    Member("update_topological_nr", "runs for each new edge: one more than the largest number that an edge leads to"),
    Member("thread_id_", "RecordFunction::currentThreadId() when the constructor runs"),
    Member("sequence_nr_", "where the priority is; topological_nr_, beside it, is 0 until an edge leads somewhere"),
)
INPUTS = (
    Member("add_input_metadata", "one entry for each forward output; undefined_input: a placeholder"),
    Member("mutable_input_metadata", "to change an entry; not thread safe, so whoever does holds a lock"),
    Member("clear_input_metadata", "drops all entries"),
    Member("InputMetadata", "an entry: options, shape, stream, subclass or nested, dtype for .grad", METADATA),
    Member("input_metadata_", "where the entries are; in each a MetadataShape: sizes, a tensor of them if nested"),
    Member("create_gradient_edge", "add_input_metadata, then set_gradient_edge: a tensor gets its grad_fn", FUNCTION),
)
OUTPUTS = (
    Member(
        "Edge",
        "function, the Node that it leads to, and input_nr, which of its inputs; an edge_list holds a Node's",
        EDGE,
    ),
    Member(
        "MakeNextFunctionList",
        "what collect_next_edges does with each input: its gradient edge, or an empty one",
        FUNCTION,
    ),
    Member("IterArgs", "its class below: takes arguments of all kinds one by one, those in lists too", VARIADIC),
    Member("gradient_edge", "a tensor's: its grad_fn and which input of that; a leaf's AccumulateGrad and 0", VARIABLE),
    Member("any_variable_requires_grad", "whether a defined one requires grad; else no Node is made", FUNCTION),
    Member("set_next_edge", "replaces one edge; add_next_edge appends one, set_next_edges replaces all"),
    Member("next_edges_", "where the edges are"),
    Member("IndexRange", "the edges of an argument that is a list, first and behind the last: asked about at once"),
)
SAVED = (
    Member("release_variables", "drops saved tensors after the run unless retain_graph; plain values stay"),
    Member("TypeAndSize", "sym_sizes and options, but no numbers; zeros() makes a tensor of them", FUNCTION),
    Member("will_release_variables", "called before the run if release_variables follows, so that pieces may go early"),
)
HOOKS = (
    Member("add_post_hook", "its result is the key for del_post_hook; add_pre_hook, add_tensor_pre_hook have none"),
    Member("add_retains_grad_hook", "at most one for each input: retain_grad of that output's tensor"),
    Member(
        "FunctionPreHook",
        "class of the hooks that run before; FunctionPostHook: after; PostAccumulateGradHook: when a "
        "leaf has its gradient",
        HOOK,
    ),
    Member("pop_retains_grad_hook", "takes the hook along when the tensor gets another grad_fn"),
    Member("pre_hooks_", "a list, as tensor_pre_hooks_ and post_hooks_ are; retains_grad_hooks_ has one for an input"),
)
ANOMALIES = (
    Member("AnomalyMode", "asked by the constructor: is_enabled() stores the stack and assigns the parent", ANOMALY),
    Member("anomaly_metadata_", "where metadata() keeps it"),
    Member("metadata", "made when first read; node.metadata in Python is its dict, programs may write there too"),
    Member("assign_parent", "keeps the Node during whose run this one was made; needs anomaly mode and create_graph"),
    Member("store_stack", "keeps the Python stack of the constructor, which print_stack prints at an error", ANOMALY),
)
RUNNING = (
    Member("operator()", "opens a RecordFunction if a profiler listens, then calls apply"),
    Member("apply", "the formula, from variable_list to variable_list: gradients of the outputs in, of the inputs out"),
    Member("ROCmBackwardPassGuard", "in builds for ROCm alone: kernels can tell that a backward runs", CONTEXT),
    Member("setForwardThreadId", "tells a profiler thread_id: with sequence_nr it finds the forward call"),
    Member("RecordFunction", "what a profiler's callbacks get: name, sequence number, inputs if wanted", RECORD),
    Member("NodeGuard", "while it lives the Node is the current one; it brings back the one before"),
    Member("get_current_node", "the Node that is being evaluated; none outside of a backward"),
    Member("last_evaluating_node_", "where NodeGuard keeps the one before"),
    Member("variable_list", "a vector of Variable, another name of at::Tensor; a tensor_list is the same"),
    Member("traced_apply", "declared for the tracer"),
)
COMPILED = (
    Member("CompiledNodeArgs", "collects for compiled_args", COMPILED_AUTOGRAD),
    Member("SwapSavedVariables", "swaps for apply_with_saved", COMPILED_AUTOGRAD),
    Member("PackedArgs", "puts what a formula needs into an ivalue_list, a vector of IValues", COMPILED_AUTOGRAD),
    Member("functional_apply_t", "a formula that has no Node: from gradients and such a list to gradients"),
    Member("saved_variable_list", "a vector of SavedVariable"),
    Member("is_aot_backward", "whether torch.compile made it; compiled autograd treats that one apart"),
)
PYTHON = (
    Member("forward_op_name", "name() without Backward and a final 0, as messages call the operation"),
    Member("getptr", "an owning pointer from the bare one, so that the Node lives as long as its user"),
    Member(
        "pyobj_slot", "its Python object, if one was asked for: x.grad_fn is x.grad_fn holds; once pyobj, set_pyobj"
    ),
    Member("pyobj_slot_", "where that is"),
    Member(
        "incref_pyobject",
        "called when C++ owns it beside its Python object, which it then keeps alive; decref_pyobject: no longer; "
        "try_incref_pyobject: a weak pointer wants to",
    ),
    Member("TargetTraits", "of its can_have_pyobject: only then does intrusive_ptr do so", POINTER),
    Member("intrusive_ptr_target", "class below Node, which counts the owners", POINTER),
)
THREADS = (Member("mutex_", "two CPU threads may run one Node; a device has a single thread, its Nodes need no lock"),)
RULES = (
    "lock it in release_variables, so that no two threads release at once",
    "lock it in apply where shared memory is written: AccumulateGrad, custom Nodes",
    "both together: nobody applies a Node whose variables another thread releases",
    "a Node that releases nothing and writes nothing shared needs no lock",
)
"""The four rules of the mutex; of hooks, those in C++ must be thread safe themselves."""

SHOWN = (
    Member(
        "has_parent_",
        "set once topological_nr() was read: from then on new edges are refused, or a parent could "
        "have a smaller number than what it leads to",
    ),
    Member("num_inputs", "how many entries of input_metadata there are"),
    Member("num_outputs", "how many edges there are"),
    Member(
        "release_resources",
        "runs when the last owner is gone: what only its edges kept goes too, without recursion",
    ),
)
"""Those that have a value at each step."""

ALL = (*SHOWN, *NUMBERS, *INPUTS, *OUTPUTS, *SAVED, *HOOKS, *ANOMALIES, *RUNNING, *COMPILED, *PYTHON, *THREADS)

"""The purpose of each member of a Node, in one line, and the header of PyTorch that declares it.

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
    Member("set_sequence_nr", "changes the priority, e.g. for a collective that should overlap with other work"),
    Member("update_topological_nr", "called for each new edge: one more than the largest number of a next Node"),
    Member("thread_id_", "RecordFunction::currentThreadId() when the constructor runs"),
    Member(
        "sequence_nr_", "holds the priority; topological_nr_, declared next to it, is 0 until the first edge is set"
    ),
)
INPUTS = (
    Member("add_input_metadata", "one entry for each forward output; undefined_input: a placeholder"),
    Member("mutable_input_metadata", "changes an entry; not thread safe, so the caller must hold a lock"),
    Member("clear_input_metadata", "removes all entries"),
    Member("InputMetadata", "one entry: options, shape, stream, subclass or nested, dtype for .grad", METADATA),
    Member("input_metadata_", "holds the entries; each has a MetadataShape: sizes, or a tensor of sizes if nested"),
    Member(
        "create_gradient_edge",
        "calls add_input_metadata, then set_gradient_edge, which sets a tensor's grad_fn",
        FUNCTION,
    ),
)
OUTPUTS = (
    Member(
        "Edge",
        "its fields are function (the next Node) and input_nr (the input of that Node); an edge_list holds all "
        "edges of a Node",
        EDGE,
    ),
    Member(
        "MakeNextFunctionList",
        "used by collect_next_edges: collects the gradient edge of each input, or an empty edge",
        FUNCTION,
    ),
    Member("IterArgs", "its base class: visits arguments of any type one by one, also those in lists", VARIADIC),
    Member(
        "gradient_edge", "the edge of a tensor: its grad_fn and output_nr, or AccumulateGrad and 0 for a leaf", VARIABLE
    ),
    Member(
        "any_variable_requires_grad", "true if a defined input requires grad; otherwise no Node is created", FUNCTION
    ),
    Member("set_next_edge", "replaces one edge; add_next_edge appends one, set_next_edges replaces all"),
    Member("next_edges_", "holds the edges"),
    Member("IndexRange", "the edges of a list argument, as (first, last + 1): checked together"),
)
SAVED = (
    Member(
        "release_variables", "releases the saved tensors after the run unless retain_graph is set; plain values stay"
    ),
    Member("TypeAndSize", "sym_sizes and options without data; zeros() creates a tensor from them", FUNCTION),
    Member(
        "will_release_variables", "called before the run if release_variables follows, so that parts can be freed early"
    ),
)
HOOKS = (
    Member("add_post_hook", "returns the key for del_post_hook; add_pre_hook and add_tensor_pre_hook return none"),
    Member("add_retains_grad_hook", "at most one hook for each input: retain_grad() of that forward output"),
    Member(
        "FunctionPreHook",
        "base class of hooks that run before the Node; FunctionPostHook: after it; PostAccumulateGradHook: after a "
        "leaf's .grad is written",
        HOOK,
    ),
    Member("pop_retains_grad_hook", "moves the hook when the tensor gets another grad_fn"),
    Member(
        "node_creation_hooks_fired_",
        "set by set_node_creation_hooks_fired() when the hooks of torch.autograd.graph.node_creation_hook are called, "
        "once for each Node; node_creation_hooks_fired() returns it",
    ),
    Member(
        "pre_hooks_", "a list, like tensor_pre_hooks_ and post_hooks_; retains_grad_hooks_ has one hook for an input"
    ),
)
ANOMALIES = (
    Member("AnomalyMode", "if is_enabled(), the constructor stores the stack and assigns the parent", ANOMALY),
    Member("anomaly_metadata_", "holds the object that metadata() returns"),
    Member("metadata", "created on first access; node.metadata in Python is its dict, which programs can write to"),
    Member(
        "assign_parent",
        "stores the Node that was running when this one was created; needs anomaly mode and create_graph",
    ),
    Member("store_stack", "stores the Python stack of the constructor; print_stack prints it at an error", ANOMALY),
)
RUNNING = (
    Member("operator()", "opens a RecordFunction if a profiler is active, then calls apply"),
    Member(
        "apply",
        "the formula: takes the gradients of the outputs and returns those of the inputs, both as a variable_list",
    ),
    Member("ROCmBackwardPassGuard", "in ROCm builds only: lets kernels detect that a backward pass runs", CONTEXT),
    Member("setForwardThreadId", "passes thread_id to a profiler, which finds the forward call by it and sequence_nr"),
    Member(
        "RecordFunction", "passed to a profiler's callbacks: name, sequence number and, if requested, inputs", RECORD
    ),
    Member("NodeGuard", "makes the Node the current one during its lifetime, then restores the previous one"),
    Member("get_current_node", "the Node that is being evaluated; none outside a backward pass"),
    Member("last_evaluating_node_", "holds the previous Node of NodeGuard"),
    Member("variable_list", "a vector of Variable, an alias of at::Tensor; tensor_list is the same type"),
    Member("traced_apply", "declared for the tracer"),
)
COMPILED = (
    Member("CompiledNodeArgs", "collects the arguments for compiled_args", COMPILED_AUTOGRAD),
    Member("SwapSavedVariables", "swaps the variables for apply_with_saved", COMPILED_AUTOGRAD),
    Member("PackedArgs", "packs the inputs of a formula into an ivalue_list, a vector of IValue", COMPILED_AUTOGRAD),
    Member(
        "functional_apply_t",
        "the type of a formula without a Node: takes gradients and an ivalue_list, returns gradients",
    ),
    Member("saved_variable_list", "a vector of SavedVariable"),
    Member("is_aot_backward", "true if torch.compile created it; compiled autograd treats it separately"),
)
PYTHON = (
    Member("forward_op_name", "name() without Backward and a final 0: the operation's name in messages"),
    Member("getptr", "turns a raw pointer into an owning one, so that the Node outlives its user"),
    Member(
        "pyobj_slot",
        "its Python object, created on first access, so x.grad_fn is x.grad_fn; formerly pyobj and set_pyobj",
    ),
    Member("pyobj_slot_", "holds that slot"),
    Member(
        "incref_pyobject",
        "called when C++ code also owns the Node, to keep its Python object alive; decref_pyobject: when it no "
        "longer does; try_incref_pyobject: when a weak pointer is locked",
    ),
    Member("TargetTraits", "can_have_pyobject is true for Node, so intrusive_ptr calls these", POINTER),
    Member("intrusive_ptr_target", "base class of Node, which counts the owners", POINTER),
)
THREADS = (
    Member("mutex_", "two CPU threads may run the same Node; a device has one thread, so its Nodes need no lock"),
)
RULES = (
    "lock it in release_variables, so that two threads never release at the same time",
    "lock it in apply if the Node writes shared memory: AccumulateGrad, custom Nodes",
    "together, these keep a thread from applying a Node whose variables another thread releases",
    "a Node that releases nothing and writes no shared memory needs no lock",
)
"""The four rules of the mutex. C++ hooks must be thread safe themselves."""

SHOWN = (
    Member(
        "has_parent_",
        "set when topological_nr() is first read; new edges are refused afterwards, because a parent could get a "
        "smaller number than its next Node",
    ),
    Member("num_inputs", "the number of entries in input_metadata"),
    Member("num_outputs", "the number of edges"),
    Member(
        "release_resources",
        "called when the last owner is gone; also frees the Nodes that only its edges kept alive, without recursion",
    ),
)
"""The members that have a value at each step."""

ALL = (*SHOWN, *NUMBERS, *INPUTS, *OUTPUTS, *SAVED, *HOOKS, *ANOMALIES, *RUNNING, *COMPILED, *PYTHON, *THREADS)

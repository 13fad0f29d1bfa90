"""The help texts of the panes."""

from __future__ import annotations

from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    COMPILER,
    ENGINE,
    GRAPH,
    KEYS,
    MEMORY,
    NODE,
    OUTPUT,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)

ABOUT = {
    STEPS: (
        "Every step of the program. Indentation shows nesting. The highlighted row is the current step. The panes show"
        " the state at that step or, if their title says so, what the row contains."
    ),
    KEYS: (
        "How the call at this step gets its dispatch key. Read the rows from top to bottom: the key sets of the "
        "arguments are united, the thread-local include set is added, the thread-local exclude set is removed, and "
        "the operator's mask removes keys whose table entry is a fallthrough. The highest remaining key is selected. "
        "Below are a reason for each key and a table of all keys and sets. While this pane has the focus, the step "
        "keys walk through the sets of the call, one at a time. The full text of the step shows the sets as numbers."
    ),
    CELL: (
        "The dispatch table entry for the selected key: its kernel, the rule that put it there, and the other places "
        "that a kernel could have come from, in order of precedence."
    ),
    CALLS: (
        "The functions that are running: yours first, then PyTorch's, each with its role in the call. Click a row to "
        "go to the step where that function was entered."
    ),
    SOURCE: (
        "The line of your program, the Python code that runs here in place of PyTorch's own function, and the "
        "operator's entries in native_functions.yaml and derivatives.yaml."
    ),
    GRAPH: (
        "The backward graph so far: one row per Node, the newest on top. Gradients flow down along the lines. During "
        "backward, signs show which Nodes wait, run and are done."
    ),
    THREAD: (
        "The thread-local state after this step: grad mode, inference mode, autocast, torch.func transforms and "
        "dispatch modes. Then the open guards, with the keys that each one excludes and includes, and the resulting "
        "include and exclude sets."
    ),
    TENSORS: (
        "The tensors of this step, then those of your variables. Each row shows the current shape and dtype, the "
        "keys, the tensors that share its memory, and the Nodes that saved it for backward. Small tensors also show "
        "their numbers, and those of x.grad, if they were recorded. Click a row to go to the step where the tensor "
        "appeared."
    ),
    ENGINE: (
        "The autograd engine during a backward pass: the Node that runs and the formulas that it needs; the ready "
        "queues and the rule that orders them; the edges that other Nodes wait for; the gradients in the input "
        "buffers and where they came from; and how .grad is written. A line with ▸ stands for a section that this "
        "step does not change, such as the graph task, exec_info_ or streams. Press Enter on it to go to the step "
        "where it changed."
    ),
    OUTPUT: "The output of your program up to this step. Click a line to go to the step that printed it.",
    STRUCTURED: (
        "The parts of a structured kernel, in order: the meta function checks the arguments and requests the output, "
        "set_output provides it, and the impl function computes."
    ),
    TABLE: (
        "The whole dispatch table of the operator: for each runtime key, its kernel and the rule that put it there. "
        "The entry that this call selected is marked."
    ),
    NODE: (
        "All members of one Node: the Node that this step creates or runs, or else the grad_fn of a tensor of this "
        "step. Each row shows a member of PyTorch's class, its current value and its purpose. Press Enter on a row to"
        " go to the step that set it."
    ),
    COMPILER: (
        "The graph that torch.compile captured, below the lines of your program that it comes from, or below the Nodes"
        " whose work it does. The line that runs at this step is marked. Below it are the dispatch keys that the Python"
        " dispatcher was asked for while PyTorch traced, and the kernel that it picked for each. While the compiler"
        " makes the graph, all lines have their keys."
    ),
    MEMORY: (
        "The memory that saved tensors keep for a backward pass. The bars show it over all steps; ▲ is this step. Below"
        " is each storage that is kept at this step, the largest first: the Nodes that saved a tensor on it, from which"
        " line to which, and a variable that holds it too, if one is known. Each storage counts once, as a whole. A"
        " storage that a variable holds anyway, such as a parameter's, costs nothing extra. Gradients and other tensors"
        " that no Node saved do not count."
    ),
}
"""The description of each pane and how to read it."""


LEGEND = (
    "+ new since the last step, ~ changed, ▶ current, › chosen row, ● mark, ◉ breakpoint, * hit (├ in the scroll bar)"
)

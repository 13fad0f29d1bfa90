"""Help texts: what each pane shows and how to read it."""

from __future__ import annotations

from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    ENGINE,
    GRAPH,
    KEYS,
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
        "Every step of the program, indented by what it happened within. The highlighted one is where you stand: all "
        "panes show that moment."
    ),
    KEYS: (
        "How the call around this step came to its key: who wins, then a row per set. Read it from top to bottom: "
        "the arguments' sets are united, the thread includes and excludes keys, the operator's mask removes keys whose "
        "cell is a fallthrough, and the highest key that is left wins. Below: why, key by key, and a table of all "
        "keys and sets. While this pane has the focus, the steps forward and back walk through the sets of a call, "
        "one lit at a time. The whole text of the step has the sets as numbers."
    ),
    CELL: (
        "The cell of the operator's table under the winning key: which kernel is in it, by which rule, and the other "
        "sources that a kernel could have come from, in order of precedence."
    ),
    CALLS: (
        "The functions that are running, your own first, then PyTorch's by its names, each with its part in the call. "
        "A click goes to where one began."
    ),
    SOURCE: (
        "The line of your program, the Python that runs now instead of PyTorch's own function, and the operator's "
        "entries in native_functions.yaml and derivatives.yaml."
    ),
    GRAPH: (
        "The backward graph as far as it is built: a row per Node, the newest on top, gradients flow down along the "
        "lines. While backward runs, signs say which Nodes wait, run and are done."
    ),
    THREAD: (
        "What the thread carries after this step: grad mode, inference mode, autocast, the transforms of torch.func, "
        "dispatch modes, the guards that are open and what each excludes and includes, and the key sets that follow."
    ),
    TENSORS: (
        "The tensors that this step is about, then those of your variables: what each is now, its keys, whose memory "
        "it shares, and which Nodes keep it for backward; of small ones also the numbers, x.grad among them, as far as "
        "these were recorded. A click goes to where it appeared."
    ),
    ENGINE: (
        "Within a backward pass: the Node that runs and which formulas it needs, the ready queues with what decides "
        "there, for how many edges others wait, what came into their input buffers from where, what becomes of .grad. "
        "What the step is not about (the graph task, exec_info_, streams ...) is a line with ▸: Enter goes where it "
        "happened."
    ),
    OUTPUT: "What your program had printed by this step. A click goes to the step that printed a line.",
    STRUCTURED: (
        "The parts of a structured kernel in their order: the meta function checks the arguments and requests the "
        "output, set_output provides it, the impl function computes."
    ),
    TABLE: (
        "The whole dispatch table of the operator: every runtime key with what its cell holds and by which rule; the "
        "cell that the call landed in is marked."
    ),
    NODE: (
        "One Node, whole: the one that the step makes or runs, else the grad_fn of a tensor of the step. Every member "
        "of PyTorch's class with its value at this moment and what it is for. Enter on a row goes where it was set."
    ),
}
"""What each pane shows and how to read it."""


LEGEND = (
    "+ new since the last step, ~ changed, ▶ here, › chosen row, ● marked, ◉ breakpoint, * hit (├ in the scroll bar)"
)

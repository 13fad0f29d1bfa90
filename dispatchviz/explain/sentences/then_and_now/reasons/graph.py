"""Why the graph keeps what it keeps."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

SAVED = "torch/csrc/autograd/saved_variable.h"

GRAPH = (
    Reason(
        "version-counters",
        "Why do tensors count versions?",
        "Many formulas need numbers of the forward, and a Node saves the tensor without a copy. If somebody writes to "
        "it before backward, the formula would compute with other numbers, and the gradient would be wrong without a "
        "word. So each write adds one to a counter, which all views of the same memory share. The Node notes the "
        "count when it saves and compares when it needs the tensor: another count is an error.",
        "the version at which a tensor is saved, and the step that makes it higher.",
        Source("c10/core/TensorImpl.h", "VariableVersion"),
        (seen(ev.VersionBumped), seen(ev.VariableSaved)),
        "examples/inplace_error.py",
    ),
    Reason(
        "savedvariable",
        "Why a SavedVariable, and not the tensor?",
        "A result holds its Node as grad_fn. If the Node held the result in turn, neither would ever be freed. So of "
        "an output a SavedVariable keeps a tensor of the same memory without the history, and puts the Node back when "
        "it is unpacked. It also notes the version, and it is the place for saved-tensor hooks, which may keep "
        "something else instead.",
        "what a Node saves, at which version, and whether it is an output of its own.",
        Source(SAVED, "SavedVariable"),
        (seen(ev.VariableSaved),),
        "examples/saved_tensors.py",
    ),
    Reason(
        "copyslices",
        "Why do views need CopySlices?",
        "A write into a view changes a part of its base. The rest of the base still has its old history, and only "
        "that part has a new one. A Node for the base must know both: CopySlices becomes its grad_fn. It cuts the part "
        "out of the gradient, hands it to the Node of the write, puts what comes back in its place, and passes the "
        "whole on to the old history. Other views get a new grad_fn from the base when they are asked for it.",
        "which tensors get a new history although only the view is written to.",
        Source("torch/csrc/autograd/functions/tensor.h", "CopySlices"),
        (seen(ev.NodeCreated, name="*CopySlices"), seen(ev.HistoryRebased), seen(ev.NodeStarted, name="*CopySlices")),
        '-c "import torch; b = torch.ones(4, requires_grad=True) * 1; b[:2].mul_(2); b.sum().backward()"',
    ),
)

# # What does a graph keep, and for how long?
#
# Training takes more memory than running a model: from the forward to the backward a Node keeps
# what its formula will need. Who knows what is kept can say what a line costs. Two errors that
# everybody meets are the price: "backward through the graph a second time" and "modified by an
# inplace operation".
#
# Before you look: which of `x`, `w`, their product and `y` have to be kept, if the derivative of
# `exp(h)` is `exp(h)`? Does a call keep anything if it makes no Node?

import torch

x = torch.ones(1000, requires_grad=True)
w = torch.full((1000,), 2.0)
y = (x * w).exp()
y.sum().backward()
try:
    y.sum().backward()
except RuntimeError as error:
    print("again:", error)
y = x.exp()
y.add_(1)
y.sum().backward()

# raises: RuntimeError
#
# ## Predict
#
# predict: Node MulBackward0
# What is kept is kept by the Node. Under `no_grad` there is none, and nothing is kept.
#
# stop: event VariableSaved in `(x * w)`
# One of the two is kept. The gradient of `w` is not asked for, and only that one's formula needs
# `x`. And what does it cost? The program holds `w` anyway, so not a byte more than without the
# graph.
#
# stop: second event VariableSaved
# `exp` keeps its own result. The product is kept by nobody: its memory was free again before the
# line had ended. To `del y` would not free the result, as long as there is the graph.
#
# ## Run
#
# stop: event VariablesReleased
# The Node has run, and lets go. The Node itself, its edges and its sizes stay. This is all that
# `retain_graph=True` prevents.
#
# stop: error
# The first price. The edges were still there, so the engine came as far as the first Node that
# wants something back. A graph of sums and additions has saved no tensor; it can be run again.
#
# ## Investigate
#
# stop: event NodeDeleted in `y = x.exp()`
# `y` is another tensor now, and nobody needs the old graph. Without a backward, this is when
# saved tensors go.
#
# predict: redispatch add_ to ADInplaceOrView
# An in-place call stops at a key that `x * w` fell through. Its kernel lets the backend write,
# then counts: each tensor has a version, which its views share.
#
# stop: event VersionBumped in `y.add_(1)`
# The second price. Saving is no copy, so what is kept has changed as well. Writing is allowed all
# the same: it does harm only if the Node ever runs.
#
# predict: last run ExpBackward0
# `add_` has a Node, too, which needs no saved tensor and has run. ExpBackward0 compares the
# versions when it unpacks what it has saved.
#
# ## Modify
#
# Go to the line `y.add_(1)` and press `W`: run it under `no_grad`. Is the error gone? Then write
# `y = y + 1` in a copy of the program. The error is gone; how many bytes does that cost?
#
# ## Make
#
# Write a function of two lines once with `exp` and once with `square`, so that a following `add_`
# raises in one case only. What is saved in which?


def facts():
    """What the prose says of PyTorch."""
    facts_of_what_is_saved()
    facts_of_who_keeps_it()
    facts_of_release()
    facts_of_versions()


def facts_error_of(call):
    """The text of what a call raises; empty if it raises nothing."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def facts_of_what_is_saved():
    """What the formula needs, as it is; of a result without the graph."""
    import weakref

    import torch

    x = torch.ones(1000, requires_grad=True)
    w = torch.full((1000,), 2.0)
    h = x * w
    y = h.exp()
    assert h.grad_fn._saved_other is w
    assert h.grad_fn._saved_self is None
    assert y.grad_fn._saved_result.data_ptr() == y.data_ptr(), "no copy"
    held = weakref.ref(h)
    del h
    assert held() is None, "nobody keeps the product"
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def facts_of_who_keeps_it():
    """The graph, as long as it is there."""
    import weakref

    import torch

    x = torch.ones(1000, requires_grad=True)
    h = x.exp()
    z = h * h
    held = weakref.ref(h)
    del h
    assert held() is not None, "the graph keeps what it has saved"
    del z
    assert held() is None, "it goes with the graph"
    with torch.no_grad():
        assert x.exp().grad_fn is None


def facts_of_release():
    """After a pass what was saved is gone, edges are not."""
    import torch

    x = torch.ones(1000, requires_grad=True)
    y = (x * torch.full((1000,), 2.0)).exp()
    y.sum().backward(retain_graph=True)
    assert y.grad_fn._saved_result is not None
    total = y.sum()
    total.backward()
    assert "a second time" in facts_error_of(lambda: y.grad_fn._saved_result)
    assert total.grad_fn.next_functions[0][0] is y.grad_fn, "edges stay"
    assert total.grad_fn._saved_self_sym_sizes == (1000,)
    assert "a second time" in facts_error_of(y.sum().backward)
    z = (x + x).sum()
    z.backward()
    assert not facts_error_of(z.backward), "nothing was saved"


def facts_of_versions():
    """Who changes what is saved is found out by its version, without grad mode and by way of a view, too."""
    import torch

    x = torch.ones(1000, requires_grad=True)

    def changed(how):
        y = x.exp()
        before = y._version
        how(y)
        assert y._version == before + 1
        return facts_error_of(y.sum().backward)

    def without_grad(y):
        with torch.no_grad():
            y.add_(1)

    assert "modified by an inplace operation" in changed(lambda y: y.add_(1))
    assert "modified by an inplace operation" in changed(without_grad)
    assert "modified by an inplace operation" in changed(lambda y: y[:1].detach().zero_()), "views"
    y = x.square()
    y.add_(1)
    assert not facts_error_of(y.sum().backward), "square has saved its input, not its result"
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::mul.Tensor", "ADInplaceOrView")
    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::add_.Tensor", "ADInplaceOrView")


def check(trace):
    """What was saved and released, and the two errors."""
    from dispatchviz.core.record import events as ev

    assert_sequence(trace, [event(ev.VariableSaved, name=name) for name in ("other", "result", "result")])
    assert_count(trace, event(ev.VariableNotSaved, name="self"), 1)
    assert_subsequence(
        trace,
        [
            event(ev.VariablesReleased),
            event(ev.ErrorRaised, message=lambda text: "a second time" in text),
            event(ev.NodeDeleted),
            redispatch("aten::add_.Tensor", "ADInplaceOrView"),
            event(ev.VersionBumped, before=0, after=1),
            node_ran("AddBackward0"),
            node_ran("ExpBackward0"),
            event(ev.ErrorRaised, message=lambda text: "inplace" in text),
        ],
    )

# # What does a graph keep, and for how long?
#
# Training takes more memory than running a model: from the forward to the backward pass, a Node
# keeps the values that its formula will need. If you know what is kept, you know the cost of a
# line. The price is two errors that every user meets: "backward through the graph a second time"
# and "modified by an inplace operation".
#
# Before you look: the derivative of `exp(h)` is `exp(h)`. Which of `x`, `w`, their product and `y`
# must be kept? Does a call keep anything if it records no Node?

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
# The Node keeps the saved tensors. Under `no_grad` there is no Node, and nothing is kept.
#
# stop: event VariableSaved in `(x * w)`
# One of the two is kept. The gradient of `w` is not needed, and only its formula uses `x`. And
# what does this cost? The program holds `w` anyway, so the graph takes not one byte more.
#
# stop: second event VariableSaved
# `exp` keeps its own result. Nothing keeps the product: its memory was free again before the line
# ended. `del y` would not free the result as long as the graph exists.
#
# ## Run
#
# stop: event VariablesReleased
# The Node has run and releases its saved tensors. The Node itself, its edges and its sizes stay.
# This release is all that `retain_graph=True` prevents.
#
# stop: error
# This is the first error. The edges were still there, so the engine came as far as the first Node
# that needs a saved tensor. A graph of sums and additions has saved no tensor, so it can run
# again.
#
# ## Investigate
#
# stop: event NodeDeleted in `y = x.exp()`
# `y` is another tensor now, and nothing needs the old graph. Without a backward pass, this is when
# saved tensors are freed.
#
# predict: redispatch add_ to ADInplaceOrView
# An in-place call stops at a key that `x * w` fell through. Its kernel lets the backend write, and
# then increments the version, which a tensor shares with its views.
#
# stop: event VersionBumped in `y.add_(1)`
# This leads to the second error. Saving does not copy, so the saved tensor has changed as well.
# Writing is allowed all the same: it does harm only if the Node runs later.
#
# predict: last run ExpBackward0
# `add_` has a Node, too, which needs no saved tensor and has run. ExpBackward0 compares the
# versions when it unpacks its saved tensor.
#
# ## Modify
#
# Go to the line `y.add_(1)` and press `W`: run it under `no_grad`. Is the error gone? Then write
# `y = y + 1` in a copy of the program. The error is gone; how many bytes does that cost?
#
# ## Make
#
# Write a function of two lines once with `exp` and once with `square`, so that a following `add_`
# raises in only one case. What is saved in each case?


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_what_is_saved()
    facts_of_who_keeps_it()
    facts_of_release()
    facts_of_versions()


def facts_error_of(call):
    """Return the message of the error that a call raises; empty if it raises none."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def facts_of_what_is_saved():
    """Check that a Node saves the tensors of its formula without copying, and a result without its graph."""
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
    assert held() is None, "nothing keeps the product"
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def facts_of_who_keeps_it():
    """Check that the graph keeps saved tensors as long as it exists."""
    import weakref

    import torch

    x = torch.ones(1000, requires_grad=True)
    h = x.exp()
    z = h * h
    held = weakref.ref(h)
    del h
    assert held() is not None, "the graph keeps what it has saved"
    del z
    assert held() is None, "it is freed with the graph"
    with torch.no_grad():
        assert x.exp().grad_fn is None


def facts_of_release():
    """Check that a pass frees the saved tensors but not the edges."""
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
    """Check that the version reveals a change of a saved tensor, also under no_grad and through a view."""
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
    """Check which tensors were saved and released, and the two errors."""
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

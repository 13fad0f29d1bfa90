# # Which hooks run, and in which order?
#
# There are five kinds of hooks on gradients, and they see different things: the gradient before or
# after another hook replaced it, the inputs or the outputs of a Node, or a leaf with its new
# `.grad`. If you log, clip or shard gradients, you must know which hook runs when. Some hooks run
# even if the Node does not.

import torch


def says(kind):
    return lambda *gradients: print(kind)


def tenfold(gradient):
    return gradient * 10


x = torch.ones(2, requires_grad=True)
y = x * 3
x.register_post_accumulate_grad_hook(says("post-accumulate hook"))
y.grad_fn.register_hook(says("post hook"))
y.grad_fn.register_prehook(says("pre hook"))
y.retain_grad()
y.register_hook(tenfold)
z = y.sum()
z.backward(retain_graph=True)
(of_y,) = torch.autograd.grad(z, y)

# ## Predict
#
# In which order will the five hooks run in `backward`, and which number will `y.grad` have? The
# hook that `retain_grad` registers writes `y.grad`, and it is registered before `tenfold`.
#
# predict: event NoNodeMade in `return gradient * 10`
# This is the tensor pre hook, the first of all. The engine has switched grad mode off, also for
# hooks. Only `create_graph=True` would leave it on.
#
# ## Run
#
# stop: second event HookRan
# The retains-grad hook runs after all tensor pre hooks, even if it was registered first. So
# `y.grad` is the gradient that `tenfold` returned.
#
# stop: third event HookRan
# A pre hook belongs to the Node. It gets the gradients of all outputs at once, as a tuple, after
# every tensor pre hook.
#
# stop: fourth event HookRan
# A post hook gets the gradients that the Node returned and those that it was given. The order of
# the kinds is fixed. Only hooks of one kind run in the order of their registration.
#
# predict: x.grad
# The post hook saw this gradient but did not keep a reference. If a hook keeps a gradient, the
# leaf has to copy it.
#
# stop: fifth event HookRan
# The hook of a leaf gets the leaf, not a gradient: `x.grad` is complete. An optimizer can step
# here and set `x.grad` to None, so that the gradients of a model never exist all at once.
#
# ## Investigate
#
# stop: last event HookRan
# Now `grad(z, y)` asks only for the gradient of `y`. `tenfold` and the hook of `retain_grad` have
# run again, because they belong to the gradient of `y`, which was computed.
#
# stop: event NodeSkipped
# Here the pre hook and the post hook would have run. They belong to the call of the Node, and the
# Node does not run. `grad` returns the gradient that `tenfold` returned.
#
# ## Modify
#
# Go to the line `return gradient * 10` and press `W`: `enable_grad`. There is still no Node for
# the product. What is the reason now? Then ask for `grad(z, x)` in the last line of a copy of the
# program. Which hooks run?
#
# ## Make
#
# Write a program that clips the gradient of one inner tensor to 1, and use a second hook to check
# the gradient that its Node gets.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_two_passes()
    facts_of_grad_mode()
    facts_of_a_leaf()
    facts_of_one_kind()
    facts_of_copies()


def facts_hooked(seen):
    """Return the leaf, the product and the sum of the program, with hooks that note their arguments."""
    import torch

    def tenfold(gradient):
        seen.append("tensor pre hook")
        seen.append(torch.is_grad_enabled())
        return gradient * 10

    def before(gradients):
        seen.append("pre hook")
        seen.append(type(gradients))
        seen.append(y.grad.tolist())

    def after(results, gradients):
        seen.append("post hook")
        seen.append([result is not None for result in results])
        seen.append(gradients[0].tolist())

    def accumulated(leaf):
        seen.append("post-accumulate hook")
        seen.append(leaf is x)
        seen.append(leaf.grad.tolist())

    x = torch.ones(2, requires_grad=True)
    y = x * 3
    x.register_post_accumulate_grad_hook(accumulated)
    y.grad_fn.register_hook(after)
    y.grad_fn.register_prehook(before)
    y.retain_grad()
    y.register_hook(tenfold)
    return x, y, y.sum()


def facts_of_two_passes():
    """Check the order in a whole pass, and which hooks run if a pass asks for less."""
    import torch

    seen = []
    x, y, z = facts_hooked(seen)
    z.backward(retain_graph=True)
    first = ["tensor pre hook", False]
    node = ["pre hook", tuple, [10, 10], "post hook", [True, False], [10, 10]]
    assert seen == [*first, *node, "post-accumulate hook", True, [30, 30]]

    seen.clear()
    (of_y,) = torch.autograd.grad(z, y, retain_graph=True)
    assert seen == first, "hooks of the Node do not run, that of the tensor does"
    assert of_y.tolist() == [10, 10]
    assert y.grad.tolist() == [20, 20], "the retains-grad hook has run again"

    seen.clear()
    torch.autograd.grad(z, x, retain_graph=True)
    assert seen[:2] == first
    assert [each for each in seen if str(each).endswith("hook")] == ["tensor pre hook", "pre hook", "post hook"]


def facts_of_grad_mode():
    """Check that grad mode is off in hooks, unless the pass is recorded."""
    import torch

    seen = []
    _, y, z = facts_hooked(seen)

    def recorded(gradient):
        with torch.enable_grad():
            seen.append((gradient * 10).grad_fn)

    with y.register_hook(recorded):
        torch.autograd.grad(z, y, retain_graph=True)
    assert seen == ["tensor pre hook", False, None], "no Node with grad mode on either: no input requires grad"

    seen.clear()
    torch.autograd.grad(z, y, create_graph=True)
    assert seen == ["tensor pre hook", True], "create_graph leaves grad mode on"


def facts_of_a_leaf():
    """Check that the hook of a leaf may remove its gradient."""
    import torch

    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: setattr(leaf, "grad", None))
    (x * 3).sum().backward()
    assert x.grad is None, "the hook of a leaf may take its .grad away"


def facts_of_one_kind():
    """Check that hooks of a kind run in the order of their registration."""
    import torch

    seen = []
    y = torch.ones(2, requires_grad=True) * 3
    y.register_hook(lambda gradient: seen.append("first"))
    y.register_hook(lambda gradient: seen.append("second"))
    y.sum().backward()
    assert seen == ["first", "second"]


def facts_of_copies():
    """Check that a leaf copies its gradient if a hook keeps it."""
    import torch

    held, addresses = [], []
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(lambda results, gradients: addresses.append(results[0].data_ptr()))
    y.sum().backward()
    assert x.grad.data_ptr() == addresses[0], "stolen, as no hook has kept it"
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(lambda results, gradients: held.append(results[0]))
    y.sum().backward()
    assert x.grad.data_ptr() != held[0].data_ptr(), "a hook that keeps it costs a copy"


def check(trace):
    """Check the order of the hooks in both passes."""
    from dispatchviz.core.record import events as ev

    order = ["tensor pre hook", "retains-grad hook", "pre hook", "post hook", "post-accumulate hook"]
    assert_sequence(trace, [event(ev.HookRan, kind=kind) for kind in [*order, *order[:2]]])
    assert_subsequence(
        trace,
        [
            event(ev.HookRan, kind="pre hook"),
            event(ev.HookRan, kind="post hook"),
            event(ev.GradientAccumulated, how="stolen"),
            event(ev.HookRan, kind="post-accumulate hook"),
            event(ev.NodeSkipped),
        ],
    )
    assert_count(trace, node_ran("MulBackward0"), 1)

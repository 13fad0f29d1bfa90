# # Which operators does a Transformer layer call?
#
# `TransformerEncoderLayer` is a real building block: attention and a feed-forward network. A
# recording of it has thousands of steps. You need not read them all. Look for the modules, and for
# the few calls that take the time. Does the layer make the same calls when it is not trained?

import torch

torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, dropout=0.0, batch_first=True)
x = torch.randn(1, 3, 4)
y = layer(x)
layer.eval()
with torch.no_grad():
    z = layer(x)

# ## Predict
#
# The input has three tokens of four numbers. Attention projects them to queries, keys and values,
# with two heads, and projects its result once more. Then come two linear layers.
#
# stop: `y = layer(x)`
# ask: A linear layer with a bias calls `addmm`. How many calls of `addmm` does this line make?
# - 3: one for the attention, two for the linear layers
#   Attention also projects its result.
# - 4: two for the attention, two for the linear layers
# - 6: queries, keys, values, result, two linear layers
#   Queries, keys and values have one weight in common.
# answer: count("call addmm") -> 4
# because: One product computes queries, keys and values: their weights are stored as one matrix.
#
# stop: event ModuleCalled
# Unfold this row (`→`), and you see the modules inside. In a recording, look for modules first, and
# for operators later.
#
# ## Run
#
# stop: call scaled_dot_product_attention
# ask: The attention itself multiplies, scales, applies `softmax`, and multiplies again. How many
# Nodes are recorded for that?
# - 1
# - 4: one for each of the operations
#   Each would have its Node if it were a call of its own.
# answer: 4 if happens("call softmax") else count("Node ScaledDotProductFlashAttentionForCpuBackward0") -> 1
# because: One fused operator computes all of it.
#
# `scaled_dot_product_attention` is composite: it chooses among several such operators. This one is
# for the CPU.
#
# stop: second event ModuleCalled
# Unfold the attention. Most of its calls are no products. They are `view`, `transpose` and
# `select`, which bring the three parts and the two heads into place. A view copies no numbers, but
# it has a Node.
#
# ## Investigate
#
# stop: `z = layer(x)`
# ask: Now the layer is in eval mode, and grad mode is off. How many operators does its Python code
# call?
# - 1
# - as many as before: the same operators, but no Nodes
#   That is true in training mode.
# - fewer: without dropout
#   The dropout of this layer is 0 anyway.
# answer: "fewer" if happens("call linear in `z = layer(x)`") else
#     count("call _transformer_encoder_layer_fwd") -> 1
# because: `forward` sees that no gradient is needed, and calls one operator for the whole layer.
#
# This is the fast path. Its kernel does all steps of the layer in C++.
#
# stop: call _transformer_encoder_layer_fwd
# ask: Are the numbers of `z` those of `y`?
# answer: torch.allclose(y, z, atol=1e-5) -> yes
# because: Dropout is 0, so both modes compute the same function.
#
# If a recording or a profile shows no modules inside the layer, it has taken the fast path. A
# forward hook on one of the modules switches the fast path off. So looking can change what runs.
#
# ## Modify
#
# Go to the line `z = layer(x)` and press `W`: run it under `enable_grad`. Which path does the layer
# take now? If PyTorch is installed, record both: `dispatchviz run --engine torch` and the name of
# the file.
#
# ## Make
#
# Write a program with `torch.nn.MultiheadAttention(4, 2, batch_first=True)`. Call it twice with
# `x, x, x`: once as it is, and once with `need_weights=False`. Which of the two calls `softmax`?
# Why can the other one not return the weights?
#
# goal: happens("call softmax")
# goal: happens("call scaled_dot_product_attention")
# hint: Record the program and look for `softmax` with `/`.
# hint: The weights are the result of `softmax`. A fused operator computes them in parts and does
#   not keep them.
# hint: `attention(x, x, x)` and `attention(x, x, x, need_weights=False)`, in training mode.


def facts():
    """Check the claims of the prose against PyTorch."""
    facts_of_both_paths()
    facts_of_fused_attention()


def facts_listening():
    """Return a mode that keeps the names of the operators below autograd."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Listening(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(func.__name__.partition(".")[0])
            return func(*args, **(kwargs or {}))

    return Listening()


def facts_of_both_paths():
    """Check the operators of both modes, and when the fast path is taken."""
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, dropout=0.0, batch_first=True)
    x = torch.randn(1, 3, 4)
    assert layer.self_attn.in_proj_weight.shape == (12, 4), "one weight for queries, keys and values"
    with facts_listening() as mode:
        y = layer(x)
    assert mode.seen.count("addmm") == 4
    views = sum(mode.seen.count(name) for name in ("view", "transpose", "select", "t"))
    assert views > len(mode.seen) / 2, "most calls are views"
    layer.eval()
    with torch.no_grad(), facts_listening() as mode:
        z = layer(x)
    assert mode.seen == ["_transformer_encoder_layer_fwd"]
    assert torch.allclose(y, z, atol=1e-5)
    with facts_listening() as mode:
        layer(x)
    assert mode.seen.count("addmm") == 4, "the long path, because a gradient may be needed"
    with torch.no_grad(), layer.linear1.register_forward_pre_hook(lambda *args: None), facts_listening() as mode:
        layer(x)
    assert "_transformer_encoder_layer_fwd" not in mode.seen, "a hook is there"


def facts_of_fused_attention():
    """Check that fused attention calls no softmax, and a solution of the last task."""
    import torch

    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(1, 3, 4)
    with facts_listening() as mode:
        attention(x, x, x)
    assert "_softmax" in mode.seen
    with facts_listening() as mode:
        _, weights = attention(x, x, x, need_weights=False)
    assert "_softmax" not in mode.seen
    assert weights is None


def check(trace):
    """Check the modules of the first call, and the one operator of the second."""
    from dispatchviz.core.record import events as ev

    names = ["layer", "layer.self_attn", "layer.dropout1", "layer.norm1", "layer.linear1", "layer.dropout"]
    names += ["layer.linear2", "layer.dropout2", "layer.norm2", "layer"]
    assert_sequence(trace, [event(ev.ModuleCalled, name=name) for name in names])
    assert_count(trace, call("aten::addmm", "AutogradCPU"), 4)
    assert_count(trace, call("aten::_transformer_encoder_layer_fwd"), 1)
    assert_never(trace, call("aten::softmax.int"))

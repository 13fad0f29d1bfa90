"""Programs in which Nodes are freed, and the times at which they are freed, as measured on PyTorch 2.13.

Each runs with ``x``, a leaf, ``tag(tensor, name)`` and ``mark(text)``. ``tag`` puts a ``Tag`` into the metadata of the
tensor's ``grad_fn`` that reports its end. After each mark come the names of those that ended since the previous mark.
"""

from __future__ import annotations

TEXT = """
## del: made:; del: z
z = x * 2
tag(z, "z")
mark("made")
del z
mark("del")

## rebinding: rebound: old
z = x * 2
tag(z, "old")
z = x * 3
mark("rebound")

## rebinding_to_what_is_computed_from_it: rebound:; del: inner
z = x * 2
tag(z, "inner")
z = z * 3
mark("rebound")
del z
mark("del")

## loop: turn:; turn: 0; turn: 1
for turn in range(3):
    z = x * 2
    tag(z, str(turn))
    mark("turn")

## loop_that_chains: turn:; turn:; turn:; gone: 0 1 2
z = x
for turn in range(3):
    z = z * 2
    tag(z, str(turn))
    mark("turn")
z = None
mark("gone")

## function: left: side; del: h
def f(x):
    h = x.exp()
    tag(h, "h")
    side = x.sin()
    tag(side, "side")
    return h * 2
y = f(x)
mark("left")
del y
mark("del")

## backward_keeps_nodes: backward:; del y: sum; del z: exp
z = (x * x).exp()
tag(z, "exp")
y = z.sum()
tag(y, "sum")
y.backward()
mark("backward")
del y
mark("del y")
del z
mark("del z")

## backward_of_a_temporary: backward: sum
def loss():
    y = (x * x).sum()
    tag(y, "sum")
    return y
loss().backward()
mark("backward")

## saved_tensor_keeps: del a:; del c: a c
a = x.exp()
tag(a, "a")
b = a.detach() * 2
c = torch.ones(2, requires_grad=True) * a
tag(c, "c")
del a
mark("del a")
del c
mark("del c")

## freed_saved_tensor: backward:; del a:; del c: a
a = x.exp()
tag(a, "a")
c = (a * a).sum()
c.backward()
mark("backward")
del a
mark("del a")
del c
mark("del c")

## in_place: written:; del: add_ mul
y = x * 2
tag(y, "mul")
y.add_(1)
tag(y, "add_")
mark("written")
del y
mark("del")

## in_place_on_view: written:; read:; del v:; del b: base rebased view
b = x * 2
tag(b, "base")
v = b[:1]
tag(v, "view")
v.mul_(3)
mark("written")
v.grad_fn
mark("read")
tag(b, "rebased")
del v
mark("del v")
del b
mark("del b")

## view_keeps_base: del b:; del v: base view
b = x * 2
tag(b, "base")
v = b[:1]
tag(v, "view")
del b
mark("del b")
del v
mark("del v")

## detach_in_place: detached: mul
y = x * 2
tag(y, "mul")
y.detach_()
mark("detached")

## detached_copy: del: mul
y = x * 2
tag(y, "mul")
d = y.detach()
del y
mark("del")

## python_reference: del y:; del n: mul
y = x * 2
tag(y, "mul")
n = y.grad_fn
del y
mark("del y")
del n
mark("del n")

## python_reference_to_inner: del y: exp; del n: mul
y = (x * 2).exp()
tag(y, "exp")
n = y.grad_fn.next_functions[0][0]
n.metadata["tag"] = Tag("mul")
del y
mark("del y")
del n
mark("del n")

## hook_keeps_tensor: del y:; del w: y
y = x * 2
tag(y, "y")
w = x * 3
w.register_hook(lambda grad, y=y: None)
del y
mark("del y")
del w
mark("del w")

## node_hook_keeps_tensor: del y:; removed: y
y = x * 2
tag(y, "y")
w = x * 3
handle = w.grad_fn.register_hook(lambda *grads, y=y: None)
del y
mark("del y")
handle.remove()
mark("removed")

## accumulate_grad: del y:; del z: accumulate
y = x * 2
y.grad_fn.next_functions[0][0].metadata["tag"] = Tag("accumulate")
z = x * 3
del y
mark("del y")
del z
mark("del z")

## accumulate_grad_of_a_dead_leaf: del w:; del y: accumulate
w = torch.ones(2, requires_grad=True)
y = w * 2
y.grad_fn.next_functions[0][0].metadata["tag"] = Tag("accumulate")
del w
mark("del w")
del y
mark("del y")

## function_context: del a:; backward:; del y: double exp
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
a = x.exp()
tag(a, "exp")
y = Double.apply(a)
tag(y, "double")
del a
mark("del a")
y.sum().backward()
mark("backward")
del y
mark("del y")

## function_context_kept: del y:; clear: double
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept.append(ctx)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
kept = []
y = Double.apply(x)
tag(y, "double")
del y
mark("del y")
kept.clear()
mark("clear")

## grad_with_history: del y: sum; del g: g
y = (x * x).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
tag(g, "g")
tag(y, "sum")
del y
mark("del y")
del g
mark("del g")

## list_of_tensors: pop: 0; empty: 1 2
kept = [x * turn for turn in range(3)]
for turn, y in enumerate(kept):
    tag(y, str(turn))
del y
kept.pop(0)
mark("pop")
kept[:] = []
mark("empty")

## exception: caught:; over: y
def f():
    y = x * 2
    tag(y, "y")
    torch.ones(2) + torch.ones(3)
try:
    f()
except RuntimeError:
    mark("caught")
x * 1
mark("over")

## several_outputs: del a:; del b: chunk
a, b = (x * 2).chunk(2)
tag(a, "chunk")
del a
mark("del a")
del b
mark("del b")

## data_and_set: data:; del: mul
y = x * 2
tag(y, "mul")
y.data = torch.zeros(2)
mark("data")
y.requires_grad_()
del y
mark("del")

## no_grad_rebind: rebound: mul
y = x * 2
tag(y, "mul")
with torch.no_grad():
    y = y * 2
mark("rebound")

## checkpoint: forward:; backward:; del: exp
def f(x):
    y = x.exp()
    tag(y, "exp")
    return y * 2
z = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
mark("forward")
z.sum().backward()
mark("backward")
del z
mark("del")

## generator: yielded:; going on:; over: y
def f():
    y = x * 2
    tag(y, "y")
    yield y.detach()
    mark("going on")
for d in f():
    mark("yielded")
mark("over")

## retain_grad: backward:; del: mul
y = x * 2
tag(y, "mul")
y.retain_grad()
y.sum().backward()
mark("backward")
del y
mark("del")

"""

PROGRAMS = {
    part.split(":", 1)[0]: (part.split("\n", 1)[1], part.split("\n", 1)[0].split(": ", 1)[1])
    for part in TEXT.split("## ")[1:]
}
"""The sources by name, and the Nodes that are freed before each mark."""

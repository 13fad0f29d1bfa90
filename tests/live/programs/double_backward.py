"""Double backward, checkpoints, saved-tensor hooks, anomaly mode, hooks."""

import torch
from graph import walk
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x**3).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
walk(g)
g.sum().backward()
print(x.grad, g)
torch.manual_seed(4)
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(2, 1))
torch.manual_seed(3)
for reentrant in (True, False):
    x.grad = None
    loss = checkpoint(net, x, use_reentrant=reentrant).sum()
    walk(loss)
    loss.backward()
    print(reentrant, loss.item().hex(), x.grad)
checkpoint_sequential(net, 2, x, use_reentrant=False).sum().backward()
with torch.autograd.graph.saved_tensors_hooks(
    lambda t: print("pack", t, t.grad_fn) or t.clone(), lambda t: print("unpack", t) or t
):
    z = (x.exp() * x).sum()
print(z.grad_fn.next_functions[0][0]._raw_saved_self)
z.backward()
with torch.autograd.graph.save_on_cpu():
    (x * x).sum().backward()
with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
    (x * x).sum().backward()
print(x.grad)
try:
    with torch.autograd.detect_anomaly():
        (x * float("inf") * 0).sqrt().sum().backward()
except Exception as error:
    print(type(error), error)
x.grad = None
h = x * 2
h.retain_grad()
handles = [
    x.register_hook(lambda g: print("tensor hook", g) or g * 2),
    h.register_hook(lambda g: print("hook of h", g)),
    x.register_post_accumulate_grad_hook(lambda p: print("post", p.grad)),
    h.grad_fn.register_hook(lambda i, o: print("node hook", i, o)),
    h.grad_fn.register_prehook(lambda o: print("prehook", o)),
    net[0].register_full_backward_hook(lambda m, i, o: print("module", i, o)),
    net[0].register_forward_hook(lambda m, i, o: print("forward", o)),
    net[0].register_full_backward_pre_hook(lambda m, o: print("pre", o)),
]
net.eval()
(net(h).sum() + h.sum()).backward()
print(h.grad, x.grad)
for handle in handles:
    handle.remove()
torch.autograd.graph.register_multi_grad_hook((x, h), lambda gs: print("multi", gs))
h.sum().backward(inputs=[x], retain_graph=True)
print(torch.autograd.graph.get_gradient_edge(h).node.name(), h.grad_fn.metadata)
a = (x * 3).exp()
for _ in range(2):
    try:
        a.sum().backward()
    except RuntimeError as error:
        print(error)
print(torch.autograd.grad(x.sum() * 2, [x], allow_unused=True), torch.autograd.gradcheck(torch.sin, x.double()))
with torch.autograd.set_multithreading_enabled(False):
    x.exp().sum().backward()

"""Hooks of Nodes: their order, their numbers, and that each Node keeps its own."""

import torch

told = []


def telling(name):
    return lambda *gradients: told.append((name, len(gradients)))


x = torch.ones(2, requires_grad=True)
y = x * 2
z = y.exp()
handles = [z.grad_fn.register_prehook(telling("before exp")), y.grad_fn.register_hook(telling("behind mul"))]
z.sum().backward(retain_graph=True)
handles.append(y.grad_fn.register_prehook(telling("before mul")))
handles.append(z.register_hook(telling("of z")))


def registers_another(gradient):
    handles.append(y.grad_fn.register_prehook(telling("registered meanwhile")))


handles.append(z.register_hook(registers_another))
z.sum().backward(retain_graph=True)
print(told)
print([handle.id - handles[0].id for handle in handles])
handles[0].remove()
handles[2].remove()
told.clear()
torch.autograd.grad(z.sum(), x, retain_graph=True)
print(told, x.grad)
print("_register_hook" in vars(torch.autograd.Function))

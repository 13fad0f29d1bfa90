"""Transforms of torch.func."""

import torch
from torch.func import functional_call, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)
x = torch.tensor([0.5, 1.5, 2.5])


def f(v):
    return (v.sin() * v).sum()


print(vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.0).view(2, 3)).tolist())
print(grad(f)(x).tolist(), grad_and_value(f)(x)[1].item().hex(), grad(grad(lambda s: s**3))(x[0]).item().hex())
print(jvp(f, (x,), (torch.ones(3),)), vjp(f, x)[1](torch.tensor(2.0)))
print(hessian(f)(x).tolist(), jacrev(torch.exp)(x).tolist(), jacfwd(torch.exp)(x).tolist())
half = torch.tensor([1.5, 2.5], dtype=torch.bfloat16)
for g in (
    lambda v: (v * 2.1 + 1).sum(),
    lambda v: ((3 / v - v / 1) * 0.3).prod(),
    lambda v: torch.where(v > 1, v, 0.5).pow(2.2).sum(),
    lambda v: (2.0**v).max() * True,
):
    print(
        grad(g)(x),
        jvp(g, (x,), (x,)),
        vmap(grad(g))(torch.stack([x, x + 1])),
        grad(lambda v: g(v).float())(half),
        hessian(g)(x),
    )
    print([grad(lambda s: g(s[None]))(v) for v in x])
print(vmap(grad(f))(torch.stack([x, x + 1])).tolist(), vmap(lambda v: v + torch.rand(1), randomness="different")(x))


def mutates(v):
    w = v.clone()
    w.view(-1).add_(1)
    w[0] = 9
    return w


print(functionalize(mutates)(x), functionalize(mutates, remove="mutations_and_views")(x))
net = torch.nn.Linear(3, 1)
params = {k: v.detach() for k, v in net.named_parameters()}
print(vmap(grad(lambda p, v: functional_call(net, p, (v,)).sum()), (None, 0))(params, torch.stack([x, x])))
for wrong in (
    lambda: vmap(lambda v: v.item())(x),
    lambda: vmap(lambda v: torch.rand(1))(x),
    lambda: grad(lambda v: v)(x),
    lambda: vmap(f)(torch.tensor(1.0)),
    lambda: vmap(lambda v: 1 if v > 0 else 0)(x),
):
    try:
        print(wrong())
    except Exception as error:
        print(type(error), error)
leaked = []
grad(lambda v: (leaked.append(v), v.sum())[1])(x)
print(leaked[0])
import torch.autograd.forward_ad as fwAD

with fwAD.dual_level():
    dual = fwAD.make_dual(x, torch.ones(3))
    print(fwAD.unpack_dual(dual.sin() * 2 + dual))
a = x.clone().requires_grad_()
print(torch.autograd.functional.hessian(f, a), torch.autograd.functional.jvp(f, a, torch.ones(3)))

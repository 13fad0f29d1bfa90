"""Views and in-place operations, allowed and not."""

import torch
from graph import walk


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error), error)


x = torch.arange(6.0).view(2, 3).requires_grad_()
y = x * 1
v = y[0]
v.mul_(2)
walk(y.sum())
print(v.grad_fn, y.grad_fn, y._version, v._version, v._base is y, y)
y.sum().backward()
print(x.grad)
attempt(lambda: x.add_(1))
attempt(lambda: x[0].add_(1))
with torch.no_grad():
    x[0].add_(1)
    x.view(-1).mul_(2)
    w = x[1]
attempt(lambda: w.mul_(2))
print(x, x._version, w.requires_grad)
z = x.clone()
s = z.sin()
z.add_(1)
attempt(lambda: s.sum().backward())
a, b = (x * 1).unbind()
attempt(lambda: a.add_(1))
base = x * 1
view = base.t()
with torch.no_grad():
    base.add_(1)
print(view.grad_fn, base.grad_fn, view._version)
base.add_(1)
print(view.grad_fn)
d = x.detach()
d.add_(1)
print(d._version, x._version, d.is_leaf)
attempt(lambda: x.sum().backward() or x.numpy())
e = torch.ones(2, 2)
e[0] = torch.tensor([5.0, 6.0], requires_grad=True)
walk(e.sum())
e.set_(torch.zeros(3))
print(e, e.shape, e.data_ptr() == e.data_ptr())
print(x.data, x.data.requires_grad, torch.ones(3).T.shape, list(x.split(1)), x.expand(2, 2, 3).stride())
x.data.zero_()
x.data = torch.ones(2, 3)
print(x, x._version)
c = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
k = c.conj()
print(k.is_conj(), k, (k * 2).resolve_conj(), k.imag.is_neg(), k.imag, torch.view_as_real(c))
(k.real * k.imag).sum().backward()
print(c.grad, c.mH if c.dim() > 1 else c.conj_physical(), torch.vdot(c, k), c.abs(), torch.fft.fft(c))
i = torch.ones(4, 4).as_strided((2, 2), (1, 2))
i += 1
print(i, i.is_contiguous(), torch.ones(2) + 1j, torch.tensor(3) / 2, torch.ones(2, dtype=torch.int) * 1.5)
print(torch.tensor(1.0, dtype=torch.float16) * 3, torch.result_type(torch.ones(1, dtype=torch.int8), 2.5), 2 - x)
print(torch.where(x > 0, x, 0.0), torch.clamp(x, 0, 1), x.pow(2), 2**x, torch.full((2,), 3), x.float() // 2)
attempt(lambda: x + torch.ones(4))
attempt(lambda: torch.ones(2).add(1, 2, 3))
attempt(lambda: torch.ones(2, 3) @ torch.ones(2, 3))
attempt(lambda: torch.ones(2, dtype=torch.int).requires_grad_())
attempt(lambda: torch.ones(2).to("cuda"))
attempt(lambda: torch.ops.aten.add.Tensor(1, 2))
attempt(lambda: torch.ones(2).index_select(0, torch.tensor([5])))

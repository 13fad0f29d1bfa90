"""The small programs that real PyTorch and the model are compared on: what is run, never what it should give.

Every program is plain Python that works unchanged after ``import torch``, whichever torch that is. Literal data
wherever values matter; the random factories are there for their dispatch log only. What PyTorch does with them is
recorded by ``record_torch.py`` into ``tests/data``.
"""

from __future__ import annotations

import re

_TEXT = """
## forum_cpu
device = torch.device("cpu")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
z = torch.add(x, y)
z.sum().backward()

## forum_cpu_y_requires_grad
device = torch.device("cpu")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
y.requires_grad_()
z = torch.add(x, y)
z.sum().backward()

## forum_cpu_no_grad
device = torch.device("cpu")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
with torch.no_grad():
    z = torch.add(x, y)

## forum_cpu_in_place_on_leaf
device = torch.device("cpu")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
x.add_(y)

## tensor_literals
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
b = torch.tensor(2.5)
c = torch.tensor([1, 2, 3])
d = torch.tensor([True, False])
e = torch.tensor([1, 2], dtype=torch.float64)
f = torch.tensor([1.0, 2.0], requires_grad=True)
g = torch.tensor(3, dtype=torch.float32, requires_grad=True)

## factories
a = torch.zeros(2, 3)
b = torch.ones((2,))
c = torch.full((2, 2), 7.0)
d = torch.full((2,), 3)
e = torch.zeros(2, dtype=torch.int64)
f = torch.ones(2, requires_grad=True)
g = torch.zeros([])
h = torch.full((1, 2), 1.5, dtype=torch.float64)

## random_factories
a = torch.randn(2, 3)
b = torch.rand(2)
c = torch.empty(3)
d = torch.randn((2, 2), requires_grad=True)
e = torch.rand(2, dtype=torch.float64)
f = torch.empty((2, 1), dtype=torch.int64)

## like_factories
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
a = torch.zeros_like(x)
b = torch.ones_like(x)
c = torch.full_like(x, 5.0)
d = torch.ones_like(x, dtype=torch.float64)
e = torch.zeros_like(x, requires_grad=True)

## random_like_factories
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
a = torch.randn_like(x)
b = torch.rand_like(x)
c = torch.empty_like(x)

## like_of_a_tensor_that_requires_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = torch.zeros_like(x)
b = torch.randn_like(x)

## like_of_transposed
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t()
a = torch.zeros_like(x)
b = x.clone()

## to_same_returns_self
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x.to("cpu")
b = x.to(torch.float32)
c = x.to(torch.device("cpu"), torch.float32)

## to_dtype_and_back
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.to(torch.float64)
z = (y * 2).sum()
z.backward()

## to_copy_true
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.to(torch.float32, copy=True)
z = x.to("cpu", copy=True)
(y + z).sum().backward()

## to_other_tensor
x = torch.tensor([1.0, 2.0])
other = torch.tensor([1.0], dtype=torch.float64)
y = x.to(other)

## dtype_shorthands
x = torch.tensor([1.5, 2.5])
a = x.double()
b = x.long()
c = x.float()

## copy_
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.zeros(2)
y.copy_(x)
y.sum().backward()

## copy_broadcast_and_dtype
x = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
y = torch.zeros(2, 2)
y.copy_(x)
y.sum().backward()

## fill_and_zero
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.fill_(3.0)
z = x * 3
z.zero_()
(y + z).sum().backward()

## fill_with_tensor
x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor(4.0, requires_grad=True)
y = x * 2
y.fill_(v)
y.sum().backward()

## fill_plain
y = torch.zeros(2)
y.fill_(3)
y.zero_()

## normal_and_uniform
x = torch.zeros(3)
x.normal_()
x.uniform_()
x.normal_(1.0, 2.0)
x.uniform_(-1.0, 1.0)

## normal_on_non_leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.normal_()
y.sum().backward()

## uniform_on_non_leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.uniform_()
y.sum().backward()

## add
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = torch.tensor([10.0, 20.0], requires_grad=True)
z = torch.add(x, y)
z.sum().backward()

## add_plain
x = torch.tensor([1.0, 2.0])
y = torch.tensor([3.0, 4.0])
z = x + y

## add_alpha
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
z = torch.add(x, y, alpha=2)
z.backward(torch.tensor([1.0, 10.0]))

## add_number
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x + 1
z = 1 + x
w = torch.add(x, 2.5)
v = torch.add(x, 2, alpha=3)
(y + z + w + v).sum().backward()

## add_in_place
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.add_(x)
y.add_(1)
y += x
y.sum().backward()

## add_in_place_alpha
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.add_(x, alpha=3)
y.sum().backward()

## add_in_place_plain
x = torch.tensor([1.0, 2.0])
x.add_(torch.tensor([1.0, 1.0]))
x += 1

## add_out
x = torch.tensor([1.0, 2.0])
y = torch.tensor([3.0, 4.0])
out = torch.empty(2)
r = torch.add(x, y, out=out)

## add_out_resizes_empty
x = torch.tensor([1.0, 2.0])
out = torch.empty(0)
torch.add(x, x, out=out)

## add_out_wrong_size_warns
x = torch.tensor([1.0, 2.0])
out = torch.empty(3)
torch.add(x, x, out=out)

## add_out_requires_grad_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0])
out = torch.empty(2)
torch.add(x, y, out=out)

## add_out_target_requires_grad_error
x = torch.tensor([1.0, 2.0])
out = torch.empty(2, requires_grad=True)
torch.add(x, x, out=out)

## add_out_under_no_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = torch.empty(2)
with torch.no_grad():
    torch.add(x, x, out=out)

## add_mixed_dtypes
x = torch.tensor([1.0, 2.0], requires_grad=True)
k = torch.tensor([1, 2])
y = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
z = x + k
w = z + y
w.sum().backward()

## integer_arithmetic
a = torch.tensor([1, 2, 3])
b = a + 1
c = a * 2
d = a / 2
e = a + 1.5
f = a - a

## zero_dim_promotion
a = torch.tensor([1.0, 2.0])
b = torch.tensor(2.0, dtype=torch.float64)
c = torch.tensor([1, 2]) * torch.tensor(1.5)
d = a * b

## sub
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = torch.tensor([[10.0], [20.0]], requires_grad=True)
z = torch.sub(x, y)
z.sum().backward()

## sub_numbers_and_alpha
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
a = x - 1
b = 1 - x
c = torch.sub(x, y, alpha=2)
(a + b + c).sum().backward()

## sub_in_place_and_out
x = torch.tensor([1.0, 2.0])
x.sub_(torch.tensor([1.0, 1.0]))
x -= 1
out = torch.empty(2)
torch.sub(x, x, out=out)

## sub_in_place_with_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = x * 2
y.sub_(w)
y.sum().backward()

## mul
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = torch.tensor([10.0, 20.0], requires_grad=True)
z = torch.mul(x, y)
z.sum().backward()

## mul_numbers
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 2 * x
z = y * 1.5
z.sum().backward()

## mul_constant_operand
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.tensor([3.0, 4.0])
z = x * c
z.sum().backward()

## mul_same_twice
x = torch.tensor([1.0, 2.0], requires_grad=True)
z = x * x
z.sum().backward()

## mul_in_place
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = x + 1
y.mul_(w)
y.sum().backward()

## mul_in_place_number
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x + 1
y *= 3
y.sum().backward()

## mul_out
x = torch.tensor([1.0, 2.0])
out = torch.empty(2)
torch.mul(x, x, out=out)

## div
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = torch.tensor([2.0, 4.0], requires_grad=True)
z = torch.div(x, y)
z.sum().backward()

## div_numbers
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x / 2
y.sum().backward()

## number_div_tensor
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 1 / x
y.sum().backward()

## div_in_place_and_out
x = torch.tensor([1.0, 2.0])
x.div_(torch.tensor([2.0, 4.0]))
x /= 2
out = torch.empty(2)
torch.div(x, x, out=out)

## div_in_place_with_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = x * 2
y.div_(w)
y.sum().backward()

## neg
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = -x
z = torch.neg(y)
z.neg_()
z.sum().backward()

## exp
x = torch.tensor([0.5, -1.0], requires_grad=True)
y = x.exp()
y.sum().backward()

## exp_in_place
x = torch.tensor([0.5, -1.0], requires_grad=True)
y = x * 2
y.exp_()
y.sum().backward()

## log
x = torch.tensor([0.5, 2.0], requires_grad=True)
y = torch.log(x)
y.sum().backward()

## log_in_place
x = torch.tensor([0.5, 2.0], requires_grad=True)
y = x * 2
y.log_()
y.sum().backward()

## unary_plain_in_place_and_out
x = torch.tensor([0.5, 2.0])
x.exp_()
x.log_()
x.neg_()
out = torch.empty(2)
torch.exp(x, out=out)
torch.log(out, out=out)
torch.neg(x, out=out)

## exp_of_integers
x = torch.tensor([1, 2])
y = x.exp()

## pow_number
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = x**2
y.sum().backward()

## pow_exponents
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
a = x.pow(3)
b = torch.pow(x, 0.5)
c = x**1
d = x**0
(a + b + c + d).sum().backward()

## pow_tensor
x = torch.tensor([1.0, 2.0], requires_grad=True)
e = torch.tensor([2.0, 3.0], requires_grad=True)
y = x**e
y.sum().backward()

## pow_number_base
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 2**x
y.sum().backward()

## pow_in_place
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.pow_(2)
y.sum().backward()

## relu
x = torch.tensor([1.0, -2.0, 0.0], requires_grad=True)
y = torch.relu(x)
y.sum().backward()

## relu_in_place
x = torch.tensor([1.0, -2.0, 0.0], requires_grad=True)
y = x * 2
y.relu_()
y.sum().backward()

## sum_all
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = torch.sum(x)
y.backward()

## sum_dim
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.sum(1)
y.backward(torch.tensor([1.0, 10.0]))

## sum_dims_keepdim
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.sum((0, -1), keepdim=True)
z = x.sum(dim=-1, keepdim=True)
(y + z).sum().backward()

## sum_integers_and_dtype
a = torch.tensor([1, 2, 3]).sum()
b = torch.tensor([1.0, 2.0]).sum(dtype=torch.float64)
c = torch.tensor([True, False, True]).sum()

## mean_all
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.mean()
y.backward()

## mean_dim
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.mean(0)
z = x.mean(dim=(0, 1), keepdim=True)
(y + z).sum().backward()

## mean_of_integers_error
torch.tensor([1, 2]).mean()

## matmul_2d2d
a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = torch.tensor([[1.0, 0.0], [0.5, 2.0], [1.0, 1.0]], requires_grad=True)
c = torch.matmul(a, b)
c.sum().backward()

## matmul_1d1d
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.matmul(a, b)
c.backward()

## matmul_2d1d
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
c = a @ v
c.sum().backward()

## matmul_1d2d
v = torch.tensor([3.0, 4.0], requires_grad=True)
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
c = v @ a
c.sum().backward()

## matmul_shape_error
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
b = torch.tensor([[1.0, 2.0, 3.0]])
torch.matmul(a, b)

## mm
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
b = torch.tensor([[1.0, 0.0], [0.5, 2.0]], requires_grad=True)
c = torch.mm(a, b)
c.sum().backward()

## mm_of_transposed
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
b = torch.tensor([[1.0, 0.0], [0.5, 2.0]], requires_grad=True)
c = torch.mm(a.t(), b.t())
c.sum().backward()

## mm_weight_only
x = torch.tensor([[1.0, 2.0]])
w = torch.tensor([[1.0, 0.0], [0.5, 2.0]], requires_grad=True)
y = x.mm(w)
y.sum().backward()

## mm_out
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
out = torch.empty(2, 2)
torch.mm(a, a, out=out)

## view
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.view(4)
z = x.view(-1, 1)
(y.sum() + z.sum()).backward()

## view_incompatible_error
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
x.t().view(6)

## view_size_error
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
x.view(5)

## reshape_contiguous
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.reshape(4)
y.sum().backward()

## reshape_copies
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.t().reshape(4)
y.sum().backward()

## t_and_transpose
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.t()
z = x.transpose(0, 1)
w = x.transpose(-1, 0)
(y + z + w).sum().backward()

## t_of_vector
v = torch.tensor([1.0, 2.0], requires_grad=True)
w = v.t()
w.sum().backward()

## expand
x = torch.tensor([[1.0], [2.0]], requires_grad=True)
y = x.expand(2, 3)
z = x.expand(3, -1, 2)
(y.sum() + z.sum()).backward()

## as_strided
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = torch.as_strided(x, (2, 2), (1, 1), 1)
y.sum().backward()

## clone_and_detach
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.clone()
d = x.detach()
z = y * d
z.sum().backward()

## detach_shares_version
x = torch.tensor([1.0, 2.0])
d = x.detach()
d.add_(1)

## contiguous
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.contiguous()
z = x.t().contiguous()
(y + z).sum().backward()

## diamond
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x * 2
b = a.exp()
c = a * a
(b + c).sum().backward()

## branches
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
a = x.exp()
b = y.log()
c = x * y
d = a + b
e = d * c
e.sum().backward()

## leaf_used_three_times
x = torch.tensor([1.0, 2.0], requires_grad=True)
z = x + x * x
z.sum().backward()

## accumulate_twice
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
(x * x).sum().backward()

## retain_graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
y.backward(retain_graph=True)
y.backward()

## second_backward_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
y.backward()
y.backward()

## second_backward_without_saved
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x + 1).sum()
y.backward()
y.backward()

## backward_not_scalar_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * 2).backward()

## backward_no_grad_error
x = torch.tensor([1.0])
(x * 2).sum().backward()

## backward_gradient_shape_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * 2).backward(torch.tensor([1.0, 2.0, 3.0]))

## backward_from_leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.backward(torch.tensor([3.0, 4.0]))

## backward_with_broadcast_gradient
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor([1.0, 2.0, 3.0])
(x * y).sum().backward()

## version_counter_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
z = y.sum()
y.add_(1)
z.backward()
(y * 1).sum().backward()

## saved_input_modified_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
z = y * y
y.add_(1)
z.sum().backward()

## leaf_in_place_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.mul_(2)

## leaf_view_in_place_error
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.view(4)
y.add_(1)

## view_made_under_no_grad_error
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
with torch.no_grad():
    y = x.view(4)
y.add_(1)

## expanded_in_place_error
x = torch.tensor([1.0]).expand(2)
x.add_(1)

## shape_mismatch_error
torch.tensor([1.0, 2.0]) + torch.tensor([1.0, 2.0, 3.0])

## in_place_shape_error
x = torch.tensor([1.0, 2.0])
x.add_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))

## in_place_dtype_error
x = torch.tensor([1, 2])
x.add_(1.5)

## div_in_place_integer_error
x = torch.tensor([1, 2])
x.div_(2)

## requires_grad_of_integers_error
x = torch.tensor([1, 2])
x.requires_grad_()

## requires_grad_of_non_leaf_error
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.requires_grad_(False)

## t_of_3d_error
x = torch.zeros(1, 2, 3)
x.t()

## transpose_dim_error
x = torch.zeros(2, 3)
x.transpose(0, 2)

## sum_dim_error
x = torch.zeros(2, 3)
x.sum(2)

## expand_error
x = torch.zeros(2, 3)
x.expand(2, 4)

## mm_of_1d_error
a = torch.tensor([1.0, 2.0])
torch.mm(a, a)

## in_place_chain_on_non_leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.mul_(3)
y.add_(1)
y.exp_()
y.sum().backward()

## in_place_on_view
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 2
v = y.view(2, 2)
v.mul_(3)
y.sum().backward()

## base_changed_then_view_used
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 2
v = y.view(2, 2)
y.add_(1)
v.sum().backward()

## plain_base_becomes_graph
b = torch.zeros(4)
v = b.view(2, 2)
u = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
v.copy_(u)
b.sum().backward()

## plain_leaf_becomes_graph
x = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0], requires_grad=True)
x.mul_(w)
x.sum().backward()

## sgd_step
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
for _ in range(2):
    loss = ((w * x).sum() - 1) ** 2
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad.zero_()

## set_grad_to_none
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 2).sum().backward()
w.grad = None
(w * 3).sum().backward()

## linear_regression_step
x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
t = torch.tensor([[1.0], [2.0], [3.0]])
w = torch.tensor([[0.5], [-0.5]], requires_grad=True)
b = torch.tensor([0.1], requires_grad=True)
y = x @ w + b
loss = ((y - t) ** 2).mean()
loss.backward()

## two_layer_network
x = torch.tensor([[1.0, -2.0]])
w1 = torch.tensor([[0.5, -0.5], [1.0, 2.0]], requires_grad=True)
w2 = torch.tensor([[1.0], [-1.0]], requires_grad=True)
h = torch.relu(x @ w1)
y = h @ w2
y.sum().backward()

## inference_mode_add
x = torch.tensor([1.0, 2.0])
with torch.inference_mode():
    y = x + x
    z = y * 2
    x.add_(1)
    v = x.view(2, 1)

## inference_tensor_in_autograd_error
with torch.inference_mode():
    x = torch.ones(2)
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * w

## inference_tensor_in_place_outside_error
with torch.inference_mode():
    x = torch.ones(2)
x.add_(1)

## no_grad_then_enable_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    a = x * 2
    with torch.enable_grad():
        b = x * 3
c = x * 4
(b + c).sum().backward()

## set_grad_enabled
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.set_grad_enabled(False):
    a = x * 2
torch.set_grad_enabled(True)
b = x * 3

## torch_ops_add
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0])
z = torch.ops.aten.add.Tensor(x, y)
w = torch.ops.aten.add(x, y, alpha=2)
z.sum().backward()

## torch_ops_randn
z = torch.ops.aten.randn([2])

## torch_ops_in_place_and_sum
x = torch.tensor([1.0, 2.0])
torch.ops.aten.mul_.Tensor(x, x)
s = torch.ops.aten.sum.default(x)

## torch_ops_scalar_overloads
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = torch.ops.aten.add.Scalar(x, 1)
b = torch.ops.aten.mul.Scalar(x, 2)
c = torch.ops.aten.sub.Scalar(x, 1, 2)
d = torch.ops.aten.div.Scalar(x, 2)
(a + b + c + d).sum().backward()

## torch_ops_in_place_scalar_overloads
x = torch.tensor([1.0, 2.0])
torch.ops.aten.add_.Scalar(x, 1)
torch.ops.aten.mul_.Scalar(x, 2)
torch.ops.aten.sub_.Scalar(x, 1)
torch.ops.aten.div_.Scalar(x, 2)

## gradient_keyword
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.backward(gradient=torch.tensor([1.0, 0.5]))

## autograd_backward_two_roots
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = (x * 2).sum()
b = (x * x).sum()
torch.autograd.backward([a, b])

## autograd_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
z = (x * y).sum()
g = torch.autograd.grad(z, [x, y])

## broadcast_both
r = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
c = torch.tensor([[2.0], [3.0]], requires_grad=True)
z = r * c
z.sum().backward()

## broadcast_zero_dim
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
s = torch.tensor(2.5, requires_grad=True)
z = x * s
z.sum().backward()

## transposed_leaf_layout
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t().requires_grad_()
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
(x * w).sum().backward()

## add_transposed_operands
a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t()
b = a + a
c = a + torch.ones(3, 2)

## print_tensor_facts
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
print(y.requires_grad, y.is_leaf, y.shape, y.dtype, y.device, y._version)
print(x.grad, type(y.grad_fn).__name__)

## item_and_tolist
x = torch.tensor([[1.0, 2.0]])
v = x.sum().item()
l = x.tolist()
n = len(x)
"""


def _parse(text: str) -> dict[str, str]:
    parts = re.split(r"^## (\w+)$", text.strip(), flags=re.MULTILINE)[1:]
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    if len(dict(pairs)) != len(pairs):
        raise ValueError("two programs have the same name")
    return {name: f"import torch\n\n{body.strip()}\n" for name, body in pairs}


PROGRAMS: dict[str, str] = _parse(_TEXT)
"""Name to source text."""

GIVEN = """
class Bad: pass
x = torch.ones(2, 2)
r = torch.ones(2, requires_grad=True)
"""
"""What every expression may use."""

EXPRESSIONS: tuple[str, ...] = tuple(
    r"""
x + "a"
x + None
"a" + x
None - x
x @ 2
2 @ x
x * [1,2]
x ** "a"
"a" ** x
x / None
x.add("a")
x.add(x, alpha="a")
x.add(x, 2)
x.add(1, x)
x.add_(1, x)
torch.add(x, 1, x)
x.add(x, alpha=1.5)
torch.ones(2,dtype=torch.int64).add(torch.ones(2,dtype=torch.int64), alpha=1.5)
torch.add(x, True)
torch.ones(2,dtype=torch.bool).add(torch.ones(2,dtype=torch.bool), alpha=True)
torch.ones(2).add(torch.ones(2), alpha=True)
x.sub(torch.ones(2,2,dtype=torch.bool))
torch.ones(2,dtype=torch.bool) - torch.ones(2,dtype=torch.bool)
-torch.ones(2,dtype=torch.bool)
torch.add(x, x, out=3)
torch.add(x, x, out=torch.ones(2,2,dtype=torch.int64))
torch.sum("a")
torch.sum(x, "a")
x.sum("a")
x.sum(1.5)
x.sum(True)
x.sum(None)
x.sum((0,0))
x.sum([])
x.sum(5)
x.sum(dim=0, keepdim=1)
x.sum(0, True)
x.sum(axis=0)
x.sum(0, dtype=torch.float64)
x.mean(0, dtype=torch.int64)
torch.relu()
torch.relu("a")
torch.relu(x, x)
torch.matmul(x)
torch.matmul(x, "a")
torch.matmul(x, torch.ones(3))
torch.matmul(x, torch.tensor(1.0))
torch.mm(x, torch.ones(3,3))
torch.mm(x, torch.ones(3))
torch.mm(x, torch.ones(2,2,dtype=torch.float64))
torch.mm(x)
torch.mv(x, torch.ones(3))
torch.dot(torch.ones(2), torch.ones(3))
torch.matmul(torch.ones(2), torch.ones(3))
torch.matmul(x, torch.ones(2,2,dtype=torch.int64))
x.view()
x.view("a")
x.view(2,"a")
x.view(-1,-1)
x.view(3,-1)
x.view(torch.float64)
x.view(size=(4,))
x.reshape("a")
x.reshape(5)
x.reshape(-1,-1)
x.transpose(0)
x.transpose(0,1,2)
x.transpose(0,5)
x.transpose("a",1)
x.expand(3,3)
x.expand(2)
x.expand(-1,2,2)
x.expand("a")
x.expand()
x.t(1)
torch.as_strided(x,(2,),(1,2))
torch.as_strided(x,(9,),(1,))
torch.as_strided(x,(2,),(-1,))
x.to()
x.to("a")
x.to(1)
x.to(Bad())
x.to(torch.float64, torch.float32)
x.to(device="cpu", dtype=torch.float64).dtype
x.to(other=r)
x.requires_grad_("a")
x.requires_grad_(1)
x.requires_grad_(requires_grad=True, x=1)
torch.ones(2,dtype=torch.int64,requires_grad=True)
torch.tensor([1,2],requires_grad=True)
torch.randn(2,2,dtype=torch.int64)
torch.rand(2,dtype=torch.int64)
torch.randn("a")
torch.randn()
torch.randn(2,"a")
torch.randn(-1)
torch.randn(2, size=(2,))
torch.randn(2, device="foo")
torch.randn(2, dtype="float32")
torch.randn(2, nonsense=1)
torch.randn([2,2]).shape
torch.randn(size=(2,)).shape
torch.zeros()
torch.zeros("a")
torch.zeros(2.5)
torch.zeros(2, out=x).shape
torch.full(2, 1)
torch.full((2,))
torch.full((2,), "a")
torch.full((2,), True).dtype
torch.full((2,), 1).dtype
torch.full((2,), 1, dtype=torch.float32)
torch.empty("a")
torch.tensor()
torch.tensor("a")
torch.tensor(["a"])
torch.tensor([1,[2]])
torch.tensor([[1,2],[3]])
torch.tensor(None)
torch.tensor(Bad())
torch.tensor([1, 2.5]).dtype
torch.tensor([True, 2]).dtype
torch.tensor([]).dtype
torch.tensor(1).dtype
torch.tensor(1.0).dtype
torch.tensor(True).dtype
torch.tensor(1, dtype=torch.float32, device="cpu", requires_grad=True)
torch.tensor([1], 2)
torch.tensor(x)
torch.zeros_like(1)
torch.zeros_like()
torch.device()
torch.device("a")
torch.device("cpu", 1)
torch.device(1)
torch.device("cuda:1")
torch.device("cuda", -1)
torch.device("cpu:x")
x.copy_()
x.copy_("a")
x.copy_(1)
x.copy_(torch.ones(3))
x.fill_()
x.fill_("a")
x.fill_(torch.ones(2))
x.zero_(1)
x.normal_("a")
x.normal_(0, -1)
x.uniform_(1, 0)
torch.ones(2,dtype=torch.int64).normal_()
torch.ones(2,dtype=torch.int64).uniform_()
x.backward()
r.backward()
(r*2).backward(1)
(r*2).backward(torch.ones(2), "a")
(r*2).sum().backward(gradient=torch.ones(2))
(r*2).sum().backward(nonsense=1)
r.sum().backward(inputs=[])
torch.autograd.backward()
torch.autograd.grad(r.sum(), x)
torch.autograd.grad(r.sum(), [torch.ones(2,requires_grad=True)])
x.item()
x.tolist()
float(x)
int(torch.tensor(2.5))
bool(x)
bool(torch.tensor(0.0))
len(torch.tensor(1))
r.numpy()
x.grad
(r*2).grad
x.foo
torch.foo
torch.add.foo
x.pow()
torch.pow(2, 3)
torch.pow(x, "a")
torch.ones(2,dtype=torch.int64) ** -1
torch.ones(2,dtype=torch.int64).pow_(0.5)
torch.exp("a")
torch.ones(2,dtype=torch.int64).exp_()
torch.log(torch.ones(2,dtype=torch.int64)).dtype
torch.neg(1)
torch.div(1, 2)
torch.div(x, 2, rounding_mode="floor").shape
torch.div(x, 2, rounding_mode="a")
torch.mul(2, x).shape
torch.add(1, x).shape
torch.add(1, 2)
x.clone(1)
x.clone(memory_format=1)
x.detach(1)
torch.clone()
x.is_leaf
x.dim(1)
x.size("a")
x.size(5)
x.stride(5)
x.data.shape
x.T.shape
torch.ops.aten.add.Tensor(x)
torch.ops.aten.add.Tensor(x, "a")
torch.ops.aten.add.Foo
torch.ops.aten.foo
torch.ops.aten.add(x, "a")
torch.ops.aten.add.Tensor(x, x, 1)
torch.ops.aten.add.Tensor(x, x, alpha="a")
x[0].shape
x == x
x > 1
x is None
hash(x) == id(x)
repr(x)
repr(r)
repr(r*2)
repr(torch.tensor(1))
repr(torch.ones(2,dtype=torch.float64))
repr(torch.ones(2,dtype=torch.int64))
repr(torch.zeros(0))
repr(torch.tensor([1.5,1000000.0]))
repr(torch.tensor([1.0,0.333333]))
repr(torch.tensor([True]))
repr((r*2).grad_fn)[:15]
repr((r*2).grad_fn.next_functions)[:30]
str(x.dtype)
repr(x.shape)
repr(torch.device("cuda"))
repr(torch.device("cuda:1"))
str(torch.device("cuda"))
repr(torch.float32)
""".strip().split("\n")
)
"""Single calls, mostly wrong ones: their results and error texts are recorded."""

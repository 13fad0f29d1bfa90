"""Sparse, quantized and nested tensors, autocast."""

import torch
from graph import walk

torch.manual_seed(4)


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error), error)


s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), requires_grad=True)
d = torch.ones(2, 2, requires_grad=True)
y = torch.sparse.mm(s, d).sum()
walk(y)
y.backward()
print(s.grad, d.grad, s.to_dense(), (s + s).coalesce(), s.detach().to_sparse_csr() @ d.detach())
attempt(lambda: s.stride())
attempt(lambda: s.detach().untyped_storage())
attempt(lambda: torch.sigmoid(s.detach().to_sparse_csr()))
e = torch.nn.Embedding(4, 2, sparse=True)
e.weight.data.fill_(1)
e(torch.tensor([1, 1])).sum().backward()
print(e.weight.grad)
torch.optim.SGD(e.parameters(), 0.5).step()
print(e.weight)
q = torch.quantize_per_tensor(torch.tensor([0.1, 0.52, 0.9]), 0.1, 0, torch.quint8)
print(q, q.dequantize(), q.int_repr(), q.q_scale(), torch.relu(q), q[0])
attempt(lambda: q + q)
dynamic = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(2, 2)), {torch.nn.Linear})
print(dynamic, dynamic(torch.zeros(1, 2)).shape)
n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
print(n, n.size(0), (n * 2).to_padded_tensor(0.0))
attempt(lambda: n.size())
torch.nn.functional.softmax(n, -1).to_padded_tensor(0.0).sum().backward()
print(n.grad)
j = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged, requires_grad=True)
print(type(j), (j * 2).values(), j.sin().sum(), torch.nn.Linear(3, 1)(j).shape[0])
net = torch.nn.Linear(3, 3)
torch.nn.init.ones_(net.weight)
with torch.autocast("cpu", torch.bfloat16):
    out = net(torch.ones(2, 3)) @ torch.ones(3, 1)
    print(out, out.dtype, torch.is_autocast_enabled("cpu"), out.float().softmax(0).dtype, out.sum().dtype)
walk(out)
out.sum().backward()
print(net.weight.grad, net.bias.grad)
mkl = torch.ones(2, 2).to_mkldnn()
print(mkl.to_dense(), mkl.relu().to_dense(), mkl)
z = torch._efficientzerotensor((2,))
print(z + 1, z._is_zerotensor())
print(torch.ones(2).to(memory_format=torch.contiguous_format), torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last).stride())

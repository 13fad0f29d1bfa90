"""Backwards that compiled autograd runs, with hooks that are registered meanwhile, and one that it does not."""

import torch

torch._dynamo.config.compiled_autograd = True


@torch.compile(backend="aot_eager")
def train(m, x):
    loss = m(x).relu().sum()
    loss.backward()
    return loss


m = torch.nn.Linear(3, 2)
x = torch.ones(4, 3)
torch.manual_seed(0)
with torch.no_grad():
    m.weight.fill_(0.5)
    m.bias.fill_(0.25)
for _ in range(3):
    print(train(m, x).item(), m.weight.grad)
    m.weight.register_hook(lambda g: g * 2)
(m(x) * 2).sum().backward()
print(m.weight.grad)


def compiler(graph):
    return torch.compile(graph, backend="eager")


y = m(x).sum()
with torch._dynamo.compiled_autograd._enable(compiler):
    y.backward()
print(m.weight.grad)
torch._dynamo.config.compiled_autograd = False
m(x).sum().backward()
print(m.weight.grad)

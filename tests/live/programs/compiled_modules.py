"""Modules within modules, compiled, exported and traced: PyTorch sees the same calls of them as without a recorder."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())

    def forward(self, x):
        return self.net(self.fc(x).relu())


graphs = []


def backend(graph, inputs):
    graphs.append([node.name for node in graph.graph.nodes])
    return graph.forward


torch.manual_seed(0)
model, x = Net(), torch.ones(2, 4)
print(torch.compile(model, backend=backend, fullgraph=True)(x).tolist(), graphs)
print([node.name for node in torch.export.export(model, (x,)).graph.nodes])
print([node.name for node in torch.fx.symbolic_trace(model).graph.nodes])
print(torch.jit.trace(model, x)(x).tolist())
print(nn.Module.__call__.__name__, model.__call__.__name__, model(x).tolist())

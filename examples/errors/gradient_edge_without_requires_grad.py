import torch

x = torch.tensor([1.0, 2.0])
torch.autograd.graph.get_gradient_edge(x)

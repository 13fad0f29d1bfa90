import torch

# In anomaly mode a Node keeps the lines that created it. If a formula of a backward pass created it, it also keeps that
# formula's Node as its parent, so the warnings show both: where the gradient was computed, and where its forward was.

x = torch.zeros(2, requires_grad=True)

with torch.autograd.detect_anomaly():
    y = x.pow(1.5)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (slope * slope).sum().backward()

import torch

# Under anomaly mode a Node keeps the lines that made it. One made by a formula of a backward pass keeps the Node of
# that formula as its parent, so the warnings tell both: where the gradient was computed, and where its forward was.

x = torch.zeros(2, requires_grad=True)

with torch.autograd.detect_anomaly():
    y = x.pow(1.5)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (slope * slope).sum().backward()

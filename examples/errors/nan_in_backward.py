import torch

w = torch.tensor([0.0, 1.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    loss = (w.sqrt() * 0).sum()
    loss.backward()  # the gradient of sqrt at 0 is infinite, and 0 * inf is NaN

import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():
    x = torch.ones(2)
y = w * x  # mul must save x to compute the gradient of w

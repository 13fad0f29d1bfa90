import torch

with torch.inference_mode():
    x = torch.ones(2)
x.requires_grad_()  # outside inference mode

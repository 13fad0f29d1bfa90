import torch

with torch.inference_mode():
    x = torch.ones(2)
x += 1  # outside inference mode

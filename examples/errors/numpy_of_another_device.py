import torch

x = torch.ones(2, device="cuda")
x.numpy()  # NumPy reads the memory of the CPU

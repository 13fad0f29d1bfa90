import torch

x = torch.tensor([1.0 + 1.0j]).conj()
x.numpy()  # only a bit marks it as the conjugate

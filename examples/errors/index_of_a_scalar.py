import torch

loss = torch.tensor(1.0)
print(loss[0])  # loss has no dimension

import torch

loss = torch.tensor(1.0)
print(len(loss))  # loss has no dimension

import torch

loss = torch.tensor(1.0)
for part in loss:  # loss has no dimension
    print(part)

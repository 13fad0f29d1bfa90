import torch

model = torch.nn.ReLU()
torch.optim.SGD(model.parameters(), lr=0.1)  # ReLU has none

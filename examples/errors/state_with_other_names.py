import torch

saved = torch.nn.Linear(2, 2).state_dict()  # weight and bias
torch.nn.Sequential(torch.nn.Linear(2, 2)).load_state_dict(saved)  # 0.weight and 0.bias

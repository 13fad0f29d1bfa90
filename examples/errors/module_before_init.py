import torch


class Net(torch.nn.Module):
    def __init__(self):
        self.layer = torch.nn.Linear(2, 2)  # super().__init__() is missing


Net()

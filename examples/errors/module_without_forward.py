import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forwards(self, x):  # misspelled
        return self.layer(x)


Net()(torch.ones(2))

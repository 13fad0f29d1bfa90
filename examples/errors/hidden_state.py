import torch

layer = torch.nn.LSTM(3, 5, batch_first=True)
layer(torch.ones(2, 4, 3), (torch.zeros(1, 4, 5), torch.zeros(1, 4, 5)))

import torch

w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
row = (w * 2)[0]
row.detach_()  # row follows the history of its base

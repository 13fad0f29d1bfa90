import torch
from torch.multiprocessing.reductions import reduce_tensor

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 2
reduce_tensor(y)  # multiprocessing does this to send y

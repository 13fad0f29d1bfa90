import torch

w = torch.tensor([1.0 + 1.0j], requires_grad=True)
loss = (w * w).sum()
loss.backward()  # loss is complex

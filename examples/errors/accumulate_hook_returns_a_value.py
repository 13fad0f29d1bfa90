import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
w.register_post_accumulate_grad_hook(lambda leaf: leaf.grad * 2)
(w * w).sum().backward()

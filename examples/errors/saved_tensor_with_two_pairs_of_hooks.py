import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
saved = (w * w).grad_fn._raw_saved_self
saved.register_hooks(lambda x: x, lambda x: x)
saved.register_hooks(lambda x: x, lambda x: x)

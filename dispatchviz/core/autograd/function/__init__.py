"""``torch.autograd.Function``."""

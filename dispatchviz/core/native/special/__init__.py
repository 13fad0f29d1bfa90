"""Special functions: ``torch.special``."""

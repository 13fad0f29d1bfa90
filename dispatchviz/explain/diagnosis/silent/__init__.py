"""Rules for silent mistakes: what PyTorch does not complain about."""

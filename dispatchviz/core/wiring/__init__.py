"""The functions that implement PyTorch's registrations: the only room that imports all others."""

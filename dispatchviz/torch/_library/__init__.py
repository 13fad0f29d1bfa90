"""What ``torch.library`` is made of (``torch/_library/``): custom operators, schemas from annotations, fake impls."""

"""The implementation of ``torch.library`` (``torch/_library/``): custom operators, schemas from annotations, fake
impls.
"""

"""The code generator. It writes ``core/generated`` from the yaml files of ``core/native``, as PyTorch's torchgen
does.
"""

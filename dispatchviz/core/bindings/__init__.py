"""From Python arguments to an operator call (``torch/csrc/utils/python_arg_parser.cpp`` and what is generated around
it).
"""

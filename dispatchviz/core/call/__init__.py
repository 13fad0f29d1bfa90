"""Calls: how the dispatcher picks the entry of an operator's dispatch table, and how structured kernels provide their
output.
"""

"""Calls: how the dispatcher picks a cell of the dispatch table, and how structured kernels provide their output."""

"""The history of an operator's dispatch table: the blocks that register something for it, replayed one by one.

The effect of a registration is not written down here. Each one is made on an empty registry, and the changes of the
table and of the masks are read from the result. Nothing imports NumPy, so the command that shows it starts quickly.
"""

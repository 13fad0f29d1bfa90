"""How an operator's table is filled: the blocks that register something for it, played back one after the other.

Nothing is known here beforehand of what a registration does: each is made on an empty registry, and what changed in the
table and in the masks is read off. Nothing imports NumPy: the command that shows it starts at once.
"""

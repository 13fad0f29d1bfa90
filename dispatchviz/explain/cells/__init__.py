"""The dispatch table without a program: what is in a cell, why, what a call would meet there, what would change it.

Everything is computed from registrations: of an operator as it is, and of copies on which registrations are tried.
Nothing here imports NumPy: the commands that show these cards start at once.
"""

"""The dispatch table without a program: what a cell holds, why, what a call to it does, and what would change it.

Everything is computed from registrations: of an operator as it is, and of copies on which registrations are tried.
Nothing here imports NumPy: the commands that show these cards start at once.
"""

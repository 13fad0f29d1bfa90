"""The dispatch table without a program: the content of an entry, its reason, its effect on calls, and how to change it.

Everything is computed from registrations: those of an operator, and those that are tried on copies of it. Nothing here
imports NumPy, so the commands that show these cards start quickly.
"""

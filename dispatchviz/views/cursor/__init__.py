"""The position in a trace: the cursor with its moves, breakpoints, marks and search. It is independent of keys and
screens.
"""

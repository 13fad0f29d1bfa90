"""Breakpoints: the stops of ``continue`` at a line, a variable, a Node, a call, a key or a kind of event, with
conditions.
"""

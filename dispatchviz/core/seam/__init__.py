"""The seam between the machine and its recorder. Every package of ``core`` may import it, and it imports none of
them.
"""

"""The seam between the machine and its recorder: every room may import it, it imports none."""

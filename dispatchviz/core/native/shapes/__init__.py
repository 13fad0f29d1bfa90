"""Joining, splitting, repeating and rearranging tensors into new ones."""

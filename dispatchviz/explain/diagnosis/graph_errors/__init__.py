"""Rules for errors of autograd: histories, versions, in-place writes, backward passes."""

"""Questions of a thing, a tensor or a Node: who made, saved, changed, uses it; from forward to backward and back."""

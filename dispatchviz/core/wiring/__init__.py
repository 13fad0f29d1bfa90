"""Which function stands behind which registration: the only room that sees all others."""

"""Commands of the session: moves, the next hit, sharing. Each is a function that returns an ``Update``."""

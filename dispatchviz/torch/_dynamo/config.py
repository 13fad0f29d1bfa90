"""``torch._dynamo.config``: options of a compiler. NB: settings have no effect, and the defaults are missing."""

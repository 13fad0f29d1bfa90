"""``torch._dynamo.config``: options of a compiler. NB: what is set here changes nothing, and defaults are not here."""

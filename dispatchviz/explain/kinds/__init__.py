"""The kinds of events: one record for each, in the module of its subject; ``all_kinds.py`` joins them."""

"""From notes to events, a subject a module; ``event_builder.py`` joins them into the ``EventBuilder``."""

"""From notes to events, a subject a module; the ``EventBuilder`` of ``event_builder.py`` has them all."""

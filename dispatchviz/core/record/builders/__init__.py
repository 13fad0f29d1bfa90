"""From notes to events, a subject a module; ``core/transcript.py`` joins them into the ``EventBuilder``."""

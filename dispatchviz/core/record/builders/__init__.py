"""The builders, which turn notes into events, one module for each subject. The ``EventBuilder`` of ``event_builder.py``
joins them.
"""

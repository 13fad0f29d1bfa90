"""Trace files: the recording itself."""

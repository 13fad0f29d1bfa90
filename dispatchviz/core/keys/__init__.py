"""Dispatch keys and sets of them (``c10/core/DispatchKey.h``, ``DispatchKeySet.h``)."""

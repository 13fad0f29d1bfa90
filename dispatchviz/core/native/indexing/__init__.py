"""Indexing: ``index``, ``index_put``, ``gather``, ``scatter``, ``masked_fill``."""

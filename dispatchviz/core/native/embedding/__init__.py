"""``linear``, ``layer_norm``, ``embedding``, ``embedding_bag``."""

"""Linear layers and embeddings."""

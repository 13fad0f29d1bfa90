"""Forward mode: dual levels and tangents."""

"""The seam between the machine and whoever records it: everybody may import it, it imports nobody."""

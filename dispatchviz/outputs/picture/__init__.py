"""Pictures of the backward graph: as DOT, as a picture file, as lanes in a terminal."""

"""The backward graph, drawn: as DOT, as a picture file, as lanes in a terminal."""

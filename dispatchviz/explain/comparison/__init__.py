"""Two runs compared: their events aligned as trees, where they part first and why, and what follows from that."""

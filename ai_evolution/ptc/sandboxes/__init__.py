"""The rungs of the ladder, one module each; ``ptc.pick`` is the door."""

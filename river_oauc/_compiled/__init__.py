"""Compiled twins of what is hot; `river_oauc.acceleration` chooses them where they are there."""

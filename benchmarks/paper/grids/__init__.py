"""A whole grid of settings of one method, learned in one pass."""

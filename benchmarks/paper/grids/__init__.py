"""All settings of a parameter grid of one method, learned in one pass."""

"""The command line and the comparisons behind it; needs the `experiments` extra."""

"""The benchmarks behind the figures of the README; see `python -m benchmarks --help`."""

"""The paper's tables: `python -m benchmarks tables`."""

"""The kernel learners."""

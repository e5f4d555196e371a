"""The linear learners."""

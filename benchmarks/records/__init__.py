"""Learners on raw records, as they were published."""

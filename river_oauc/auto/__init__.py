"""The learners without anything to set."""

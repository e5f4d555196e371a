"""From records, labels and data frames to arrays and numbers."""

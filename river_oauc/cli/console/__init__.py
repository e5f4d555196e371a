"""Text, tables, figures and errors of the commands."""

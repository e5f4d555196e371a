"""How the commands talk to their user: text, tables, errors, files."""

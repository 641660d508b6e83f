"""The commands that this package adds to the program."""

"""Scripts that run in a child process, by the interpreter of the program that is looked at; never imported here."""

"""A board on which tools for language models hang."""

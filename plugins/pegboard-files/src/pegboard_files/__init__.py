"""File tools for Pegboard: `read_file`, `write_file`, `edit_file`, `list_directory`, `search_files`, `search_text`."""

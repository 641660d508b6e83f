"""`python -m pegboard` is the program `pegboard`."""

from __future__ import annotations

from pegboard_program import main

if __name__ == "__main__":
    main()

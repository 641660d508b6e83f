"""The browser of the client scenarios: it opens one address and follows where that leads, as a person's yes would."""

from __future__ import annotations

import sys
import urllib.request

if __name__ == "__main__":
    with urllib.request.urlopen(sys.argv[1], timeout=20) as answer:
        answer.read()

"""Where words of third parties go: what an untrusted source answered, and what other tools are asked to do with it.

`words` finds words of one text in another, `definitions` places that a definition speaks of, and `grams` knows of most
values that they stand in neither; `guard` asks a person about what was found. Nothing of it is imported where every
source is trusted.
"""

"""Where words of third parties go: what an untrusted source answered, and what other tools are asked to do with it.

`words` finds words of one text in another; `guard` asks a person about them. Nothing of it is imported where every
source is trusted.
"""

"""Prints texts with Greek letters in lower case, as Python writes them.

Prints a line of JSON per text, [text, text in lower case]: all texts of at most five of the given characters.
"""
import itertools, json, sys

for length in range(6):
    for characters in itertools.product(sys.argv[1], repeat=length):
        text = "".join(characters)
        print(json.dumps([text, text.lower()]))

#!/bin/sh
set -e
python3 -c 'print("".join(sorted(open("notes.txt"))), end="")' > sorted.txt

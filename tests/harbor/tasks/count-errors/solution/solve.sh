#!/bin/sh
set -e
best=$(grep -c '^ERROR' log/* | sed 's/\(.*\):\(.*\)/\2 \1/' | python3 -c '
import sys
count, path = max((int(line.split()[0]), line.split()[1]) for line in sys.stdin)
print(path.split("/")[-1], count, sep="\n")
')
echo "$best" > answer.txt

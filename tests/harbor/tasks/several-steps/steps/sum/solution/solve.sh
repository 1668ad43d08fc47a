#!/bin/sh
set -e
python3 -c 'print(sum(int(line.split()[1]) for line in open("sorted.txt")))' > sum.txt

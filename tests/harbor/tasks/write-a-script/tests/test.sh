#!/bin/bash
told=$(/app/longest /tests/text)
if [ "$told" = "  the longest of these lines" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi

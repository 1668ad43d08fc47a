#!/bin/bash
if python3 -m pytest -q /tests/test_ranges.py; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi

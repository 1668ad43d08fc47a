#!/bin/bash
python3 -m pytest -q --junitxml=/tests/report.xml /tests/test_shapes.py
python3 -I /tests/share.py /tests/report.xml > /logs/verifier/reward.txt

#!/bin/bash
echo 0 > /logs/verifier/reward.txt
python3 -I -c '
import json, sys
sys.exit(json.load(open("/app/stock.json")) != json.load(open("/tests/expected.json")))
' && echo 1 > /logs/verifier/reward.txt

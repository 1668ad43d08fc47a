#!/bin/sh
set -e
python3 <<'EOF'
import csv, json
rows = [{**row, "count": int(row["count"])} for row in csv.DictReader(open("stock.csv"))]
json.dump(rows, open("stock.json", "w"))
EOF

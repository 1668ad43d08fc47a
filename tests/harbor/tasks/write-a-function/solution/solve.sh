#!/bin/sh
set -e
cat > roman.py <<'EOF'
VALUES = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X", 9: "IX", 5: "V",
          4: "IV", 1: "I"}


def roman(n):
    text = ""
    for value, letters in VALUES.items():
        text += letters * (n // value)
        n %= value
    return text
EOF

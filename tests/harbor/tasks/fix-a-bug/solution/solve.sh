#!/bin/sh
set -e
sed -i 's/ < / <= /g' ranges/__init__.py

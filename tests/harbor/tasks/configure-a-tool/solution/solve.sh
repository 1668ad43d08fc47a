#!/bin/sh
set -e
sed -i 's/^workers = .*/workers = 8/' /etc/tool.ini

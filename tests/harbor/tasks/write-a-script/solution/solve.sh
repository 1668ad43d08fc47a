#!/bin/sh
set -e
cat > longest <<'EOF'
#!/bin/bash
longest=
while IFS= read -r line; do
    if [ ${#line} -gt ${#longest} ]; then longest=$line; fi
done < "$1"
echo "$longest"
EOF
chmod +x longest

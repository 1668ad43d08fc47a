#!/bin/sh
set -e
cat > serve.py <<'EOF'
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/ping"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(b"pong" if found else b"")


HTTPServer(("127.0.0.1", 8123), Handler).serve_forever()
EOF
python3 serve.py > /dev/null 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.5
    python3 -c 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8123/ping").read())' && exit 0
done
exit 1

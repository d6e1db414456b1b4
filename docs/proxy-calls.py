"""200 calls through the proxy to a server that is down, and the attempts that reach the server.

The program knows nothing of retries: it has another URL, which is that of the proxy."""

import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

proxy, port = sys.argv[1], int(sys.argv[2])
attempts = []


class Down(BaseHTTPRequestHandler):
    """The server: it answers 503 to everything, and counts."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        attempts.append(self.headers["stagger-attempt"])
        self.send_response(503)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Down)
threading.Thread(target=server.serve_forever, daemon=True).start()

# A proxy of the environment is not the one that is meant here.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
calls = 200
for _ in range(calls):
    try:
        opener.open(f"{proxy}/orders/7", timeout=10)
    except urllib.error.HTTPError as error:
        error.close()
print(f"{calls} calls, {len(attempts) / calls:.1f} attempts each")

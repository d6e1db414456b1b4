"""A service that calls another one through the proxy beside it: no retries, no budget and no breaker of its own."""

import os
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ORDERS = os.environ["ORDERS_URL"]


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/healthz":
            return self.reply(200, b"well\n")
        try:
            with urllib.request.urlopen(f"{ORDERS}/7", timeout=15) as order:
                return self.reply(200, order.read())
        except urllib.error.HTTPError as refusal:
            # Also the proxy's own refusals, which say when to come back.
            return self.reply(refusal.code, refusal.read(), refusal.headers.get("retry-after"))

    def reply(self, status, body, retry_after=None):
        self.send_response(status)
        if retry_after:
            self.send_header("retry-after", retry_after)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("0.0.0.0", 8000), Shop).serve_forever()

"""A receiver that verifies Standard Webhooks signatures: receiver.py PORT SECRET."""

import base64
import hashlib
import hmac
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

PORT, SECRET = int(sys.argv[1]), sys.argv[2]
KEY = base64.b64decode(SECRET.removeprefix("whsec_") + "==")
TOLERANCE = 5 * 60  # seconds


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        good = self.is_signed(body)
        print("verified" if good else "refused", self.headers["webhook-id"], body.decode(), flush=True)
        self.send_response(204 if good else 401)
        self.end_headers()

    def is_signed(self, body):
        name, at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        if abs(time.time() - int(at)) > TOLERANCE:
            return False
        mac = hmac.new(KEY, f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
        ours = "v1," + base64.b64encode(mac).decode()
        theirs = self.headers["webhook-signature"].split(" ")
        return any(hmac.compare_digest(ours, one) for one in theirs)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()

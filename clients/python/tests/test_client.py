"""The client against a running dispatcher: STAGGER_URL and STAGGER_KEY name it.

`python3 -m unittest discover -s tests` with `src` on the path.
"""

import base64
import http.server
import os
import threading
import unittest

from stagger_webhooks import ApiError, Client, RetryBudget, SignatureError, TransportError, Webhook
from stagger_webhooks._transport import Transport

URL, KEY = os.environ.get("STAGGER_URL", ""), os.environ.get("STAGGER_KEY", "")


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what it gets; answers with the statuses of its list first, then with 204."""

    def __init__(self, statuses=(), headers=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses, self.headers, self.got = list(statuses), headers or {}, []
        self.arrived = threading.Semaphore(0)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.got.append((dict(self.headers), body))
        status = self.server.statuses.pop(0) if self.server.statuses else 204
        self.send_response(status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.arrived.release()

    do_GET = do_POST

    def log_message(self, *_):
        pass


@unittest.skipUnless(URL, "STAGGER_URL names no dispatcher")
class WithDispatcher(unittest.TestCase):
    def setUp(self):
        admin = Client(URL, KEY)
        made = admin.create_application({"name": "python"})
        self.app, self.client = made["id"], Client(URL, made["key"])

    def test_a_message_is_delivered_and_its_signature_fits(self):
        receiver = Receiver()
        endpoint = self.client.create_endpoint(self.app, {"url": receiver.url})
        body = {"event_type": "invoice.paid", "payload": {"amount": 10}}
        sent = self.client.send_message(self.app, body, idempotency_key="invoice-17")
        self.assertFalse(sent["repeated"])
        again = self.client.send_message(self.app, body, idempotency_key="invoice-17")
        self.assertEqual((again["id"], again["repeated"]), (sent["id"], True))
        self.assertTrue(receiver.arrived.acquire(timeout=60))
        headers, received = receiver.got[0]
        self.assertEqual(Webhook(endpoint["secret"]).verify(received, headers), {"amount": 10})
        with self.assertRaises(SignatureError):
            Webhook(endpoint["secret"]).verify(received + b" ", headers)
        raw = self.client.send_raw_message(
            self.app, b"\x00\xff", event_type="raw.bytes", content_type="application/x-test"
        )
        self.assertEqual(self.client.get_payload(self.app, raw["id"]), b"\x00\xff")
        ids = [it["id"] for it in self.client.pages(self.client.list_messages, self.app, limit=1)]
        self.assertEqual(ids, [raw["id"], sent["id"]])
        self.assertIsNone(self.client.delete_endpoint(self.app, endpoint["id"]))

    def test_a_refusal_says_why(self):
        with self.assertRaises(ApiError) as caught:
            self.client.create_endpoint(self.app, {"url": "ftp://example.com/"})
        self.assertEqual(caught.exception.status, 400)
        self.assertEqual(caught.exception.problem["field"], "url")
        with self.assertRaises(ApiError) as caught:
            Client(URL, "sk_wrong").get_application(self.app)
        self.assertEqual(caught.exception.status, 401)
        with self.assertRaises(ApiError) as caught:
            self.client.get_application("app_/../../audit")
        self.assertEqual(caught.exception.status, 404)


class Alone(unittest.TestCase):
    def transport(self, url, waits, **given):
        settings = {"timeout": 10, "max_attempts": 4, "max_wait": 60, **given}
        return Transport(url, "key", sleep=waits.append, **settings)

    def test_a_repeated_send_has_the_same_key_and_waits_for_the_hint(self):
        server, waits = Receiver([503, 429], {"Retry-After": "7"}), []
        transport = self.transport(server.url, waits)
        transport.call("POST", "/x", json_body={}, takes_key=True, reply="nothing")
        keys = {headers["Idempotency-Key"] for headers, _ in server.got}
        self.assertEqual((len(server.got), len(keys)), (3, 1))
        self.assertTrue(all(7 <= wait <= 7.4 for wait in waits), waits)

    def test_a_post_without_a_key_is_repeated_only_where_nothing_was_done(self):
        for status, requests in ((503, 1), (429, 2), (400, 1)):
            server = Receiver([status])
            transport = self.transport(server.url, [])
            try:
                transport.call("POST", "/x", json_body={}, reply="nothing")
            except ApiError as error:
                self.assertEqual(error.status, status)
            self.assertEqual(len(server.got), requests, status)

    def test_a_hint_beyond_the_bound_ends_the_call(self):
        server, waits = Receiver([503], {"Retry-After": "3600"}), []
        with self.assertRaises(ApiError) as caught:
            self.transport(server.url, waits).call("GET", "/x", reply="nothing")
        self.assertEqual((caught.exception.retry_after, waits), (3600, []))

    def test_the_budget_keeps_retries_to_a_tenth(self):
        budget, retries = RetryBudget(), 0
        for _ in range(1000):
            budget.on_call()
            while budget.take():
                retries += 1
        self.assertTrue(100 <= retries <= 110, retries)
        refused = self.transport("http://127.0.0.1:9", [])
        for _ in range(20):
            with self.assertRaises(TransportError):
                refused.call("GET", "/x")
        self.assertFalse(refused.budget.take())

    def test_signatures_are_those_of_the_standard(self):
        # The example of the specification.
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        body = b'{"test": 2432232314}'
        webhook = Webhook(secret)
        self.assertEqual(webhook.verify(body, headers, now=1614265330), {"test": 2432232314})
        both = {**headers, "webhook-signature": "v1a,AAAA v1,!! " + headers["webhook-signature"]}
        webhook.verify(body, both, now=1614265330 + 300)
        for changed, now in ((body + b" ", 1614265330), (body, 1614265631), (body, 1614265029)):
            with self.assertRaises(SignatureError):
                webhook.verify(changed, headers, now=now)
        other = "whsec_" + base64.b64encode(b"x" * 24).decode()
        with self.assertRaises(SignatureError):
            Webhook(other).verify(body, headers, now=1614265330)
        Webhook([other, secret]).verify(body, headers, now=1614265330)
        with self.assertRaises(ValueError):
            Webhook("whsk_AAAA")


if __name__ == "__main__":
    unittest.main()

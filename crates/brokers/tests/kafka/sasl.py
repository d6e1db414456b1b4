"""A broker of Kafka that checks a name and a password, and takes each message; its SCRAM is computed by Python's own library.

sasl.py MECHANISM NAME PASSWORD [CERTIFICATE KEY]: the files are for TLS. The first line it writes is its port; after that
it writes a line for each message that it has taken, and one for each refused password.
"""

import base64
import hashlib
import hmac
import os
import socketserver
import ssl
import struct
import sys

MECHANISM, NAME, PASSWORD = sys.argv[1:4]
ITERATIONS = 4096


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def blob(value):
    return struct.pack(">i", len(value)) + value


class Refused(Exception):
    pass


class Broker(socketserver.BaseRequestHandler):
    def setup(self):
        if len(sys.argv) > 4:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*sys.argv[4:6])
            self.request = context.wrap_socket(self.request, server_side=True)
        self.is_known, self.conversation = False, []

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.request.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def handle(self):
        try:
            while True:
                frame = self.exactly(struct.unpack(">i", self.exactly(4))[0])
                api, _version, asked, size = struct.unpack(">hhih", frame[:10])
                answer = self.answer(api, frame[10 + size:])
                self.request.sendall(blob(struct.pack(">i", asked) + answer))
        except (EOFError, OSError):
            pass

    def answer(self, api, body):
        if api == 18:
            return struct.pack(">hihhhhhh", 0, 2, 0, 0, 9, 3, 0, 12)
        if api == 17:
            asked = body[2:].decode()
            error = 0 if asked == MECHANISM else 33
            return struct.pack(">hi", error, 1) + text(MECHANISM)
        if api == 36:
            try:
                said = self.plain(body[4:]) if MECHANISM == "PLAIN" else self.scram(body[4:].decode())
                return struct.pack(">hh", 0, -1) + blob(said)
            except Refused:
                print("refused", flush=True)
                return struct.pack(">h", 58) + text("Authentication failed") + blob(b"")
        assert self.is_known, "a request before the password"
        if api == 3:
            host, port = self.server.server_address
            brokers = struct.pack(">ii", 1, 7) + text(host) + struct.pack(">ih", port, -1)
            partition = struct.pack(">hiiiiii", 0, 0, 7, 1, 7, 1, 7)
            topic = struct.pack(">h", 0) + text("events") + struct.pack(">bi", 0, 1) + partition
            return struct.pack(">i", 0) + brokers + struct.pack(">hii", -1, 7, 1) + topic
        assert api == 0, api
        print("taken", flush=True)
        found = struct.pack(">i", 1) + text("events") + struct.pack(">iihqq", 1, 0, 0, 41, -1)
        return found + struct.pack(">i", 0)

    def plain(self, said):
        if said != f"\0{NAME}\0{PASSWORD}".encode():
            raise Refused
        self.is_known = True
        return b""

    def scram(self, said):
        digest = "sha256" if MECHANISM == "SCRAM-SHA-256" else "sha512"
        mac = lambda key, value: hmac.digest(key, value, digest)
        if not self.conversation:
            header, bare = said[:3], said[3:]
            name, nonce = bare.split(",")
            assert header == "n,," and name == "n=" + NAME.replace("=", "=3D").replace(",", "=2C"), said
            salt = os.urandom(16)
            challenge = f"{nonce}server,s={base64.b64encode(salt).decode()},i={ITERATIONS}"
            self.conversation = [bare, challenge]
            self.salted = hashlib.pbkdf2_hmac(digest, PASSWORD.encode(), salt, ITERATIONS)
            return challenge.encode()
        bare, proof = said.rsplit(",p=", 1)
        signed = ",".join([*self.conversation, bare]).encode()
        key = mac(self.salted, b"Client Key")
        signature = mac(hashlib.new(digest, key).digest(), signed)
        expected = bytes(a ^ b for a, b in zip(key, signature))
        if not hmac.compare_digest(expected, base64.b64decode(proof)):
            raise Refused
        self.is_known = True
        return b"v=" + base64.b64encode(mac(mac(self.salted, b"Server Key"), signed))


socketserver.ThreadingTCPServer.daemon_threads = True
server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Broker)
print(server.server_address[1], flush=True)
server.serve_forever()

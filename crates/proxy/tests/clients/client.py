"""httpx, requests, grpcio and websockets through the proxy. The first line names the port of a server of WebSockets;
the proxy's URL comes on the standard input."""

import threading

import grpc
import httpx
import requests
from websockets.sync.client import connect
from websockets.sync.server import serve

SIZE = 4 << 20


def echo(socket):
    for message in socket:
        socket.send(message)


server = serve(echo, "127.0.0.1", 0)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("websocket", server.socket.getsockname()[1], flush=True)
proxy = input()


def is_(case, got, wanted):
    assert got == wanted, f"{case}: {got!r} instead of {wanted!r}"


def fails(case, errors, call):
    try:
        got = call()
    except errors:
        return
    raise AssertionError(f"{case}: {got!r} instead of an error")


def chunks():
    for _ in range(32):
        yield bytes(65536)


def httpx_cases():
    with httpx.Client(base_url=proxy, trust_env=False, timeout=20) as client:
        is_("once", client.get("/httpx/once").text, "fine")
        is_("post", client.post("/httpx/post", content=b"x").status_code, 503)
        keyed = client.post("/httpx/keyed", content=b"x", headers={"Idempotency-Key": '"k"'})
        is_("keyed", keyed.text, "fine")
        fails("cut", httpx.RemoteProtocolError, lambda: client.get("/httpx/cut").text)
        is_("up", client.post("/httpx/up", content=chunks()).text, "taken")
        with client.stream("GET", "/httpx/down") as reply:
            is_("down", sum(len(part) for part in reply.iter_bytes()), SIZE)
        with client.stream("GET", "/httpx/events") as reply:
            events = [line for line in reply.iter_lines() if line.startswith("data: ")]
            is_("events", events, ["data: 1", "data: 2"])
        fails("hang", httpx.ReadTimeout, lambda: client.get("/httpx/hang", timeout=0.3))
        is_("tls", client.get("/httpx/tls").text, "sealed")


def requests_cases():
    with requests.Session() as session:
        session.trust_env = False
        get = lambda path, **more: session.get(proxy + path, timeout=20, **more)
        is_("once", get("/requests/once").text, "fine")
        is_("post", session.post(proxy + "/requests/post", data=b"x").status_code, 503)
        headers = {"Idempotency-Key": '"k"'}
        is_("keyed", session.post(proxy + "/requests/keyed", data=b"x", headers=headers).text, "fine")
        broken = (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)
        fails("cut", broken, lambda: get("/requests/cut").text)
        is_("up", session.post(proxy + "/requests/up", data=chunks()).text, "taken")
        down = get("/requests/down", stream=True)
        is_("down", sum(len(part) for part in down.iter_content(65536)), SIZE)
        events = [line for line in get("/requests/events", stream=True).iter_lines() if line]
        is_("events", events, [b"data: 1", b"data: 2"])
        hang = lambda: session.get(proxy + "/requests/hang", timeout=0.3)
        fails("hang", requests.exceptions.ReadTimeout, hang)
        is_("tls", get("/requests/tls").text, "sealed")


def grpc_status(call):
    try:
        return list(call)
    except grpc.RpcError as error:
        return error.code().name


def grpc_cases():
    # The channel's own retries would hide those of the proxy.
    options = [("grpc.enable_retries", 0), ("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(proxy.removeprefix("http://"), options) as channel:
        name = "/shop.Orders/"
        is_("get", channel.unary_unary(name + "Get")(b"", timeout=20), b"ok")
        is_("list", list(channel.unary_stream(name + "List")(b"", timeout=20)), [b"ok", b"ok"])
        parts = lambda: iter([b"part"] * 3)
        is_("put", channel.stream_unary(name + "Put")(parts(), timeout=20), b"ok")
        is_("chat", list(channel.stream_stream(name + "Chat")(parts(), timeout=20)), [b"ok", b"ok"])
        seen = []
        try:
            for message in channel.unary_stream(name + "Broken")(b"", timeout=20):
                seen.append(message)
        except grpc.RpcError as error:
            seen.append(error.code().name)
        is_("broken", seen, [b"ok", "UNAVAILABLE"])
        is_("create", grpc_status(channel.unary_stream(name + "Create")(b"", timeout=20)), "UNAVAILABLE")
        waiting = channel.unary_unary(name + "Wait").future(b"", timeout=20)
        threading.Timer(0.3, waiting.cancel).start()
        try:
            waiting.result()
            raise AssertionError("wait: not cancelled")
        except grpc.FutureCancelledError:
            pass


def websocket_cases():
    url = proxy.replace("http://", "ws://") + "/ws"
    with connect(url, proxy=None) as socket:
        for message in ["one", b"two", "x" * 100_000]:
            socket.send(message)
            is_("websocket", socket.recv(timeout=20), message)


httpx_cases()
requests_cases()
grpc_cases()
websocket_cases()

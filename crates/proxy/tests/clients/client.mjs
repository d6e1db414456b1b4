// fetch, axios and ws through the proxy. The first line names the port of a server of WebSockets; the proxy's URL comes
// on the standard input.
import assert from "node:assert";
import { createInterface } from "node:readline/promises";
import { Readable } from "node:stream";
import axios from "axios";
import WebSocket, { WebSocketServer } from "ws";

const SIZE = 4 << 20;
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("connection", (socket) => socket.on("message", (data, binary) => socket.send(data, { binary })));
await new Promise((listening) => server.on("listening", listening));
console.log(`websocket ${server.address().port}`);
const proxy = await createInterface({ input: process.stdin }).question("");

function* chunks() {
  for (let n = 0; n < 32; n++) yield new Uint8Array(65536);
}
const key = { "Idempotency-Key": '"k"' };

async function fetchCases() {
  const get = (path, more) => fetch(proxy + path, more);
  assert.equal(await (await get("/fetch/once")).text(), "fine");
  assert.equal((await get("/fetch/post", { method: "POST", body: "x" })).status, 503);
  const keyed = await get("/fetch/keyed", { method: "POST", body: "x", headers: key });
  assert.equal(await keyed.text(), "fine");
  await assert.rejects(async () => (await get("/fetch/cut")).text());
  const up = await get("/fetch/up", { method: "POST", body: Readable.from(chunks()), duplex: "half" });
  assert.equal(await up.text(), "taken");
  let length = 0;
  for await (const part of (await get("/fetch/down")).body) length += part.length;
  assert.equal(length, SIZE);
  const events = await (await get("/fetch/events")).text();
  assert.equal(events, "data: 1\n\ndata: 2\n\n");
  await assert.rejects(() => get("/fetch/hang", { signal: AbortSignal.timeout(300) }));
  assert.equal(await (await get("/fetch/tls")).text(), "sealed");
}

async function axiosCases() {
  const client = axios.create({ baseURL: proxy, proxy: false, validateStatus: () => true, timeout: 20000 });
  assert.equal((await client.get("/axios/once")).data, "fine");
  assert.equal((await client.post("/axios/post", "x")).status, 503);
  assert.equal((await client.post("/axios/keyed", "x", { headers: key })).data, "fine");
  await assert.rejects(() => client.get("/axios/cut"));
  const stream = { maxRedirects: 0, headers: { "content-type": "application/octet-stream" } };
  assert.equal((await client.post("/axios/up", Readable.from(chunks()), stream)).data, "taken");
  let length = 0;
  for await (const part of (await client.get("/axios/down", { responseType: "stream" })).data) length += part.length;
  assert.equal(length, SIZE);
  assert.equal((await client.get("/axios/events")).data, "data: 1\n\ndata: 2\n\n");
  await assert.rejects(() => client.get("/axios/hang", { timeout: 300 }));
  assert.equal((await client.get("/axios/tls")).data, "sealed");
}

async function websocketCases() {
  const socket = new WebSocket(`${proxy.replace("http:", "ws:")}/ws`);
  await new Promise((opened, failed) => socket.on("open", opened).on("error", failed));
  for (const message of ["one", "x".repeat(100_000)]) {
    socket.send(message);
    const reply = await new Promise((came) => socket.once("message", came));
    assert.equal(reply.toString(), message);
  }
  socket.close();
}

await fetchCases();
await axiosCases();
await websocketCases();
process.exit(0);

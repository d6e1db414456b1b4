// The client against a running dispatcher: STAGGER_URL and STAGGER_KEY name it.

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import test from 'node:test';

// Node 18 has it only here.
globalThis.crypto ??= webcrypto;

const { ApiError, Client, RetryBudget, SignatureError, TransportError, Webhook } = await import('../src/index.js');
const { Transport } = await import('../src/transport.js');

const { STAGGER_URL: URL_OF, STAGGER_KEY: KEY } = process.env;
const skip = URL_OF ? false : 'STAGGER_URL names no dispatcher';

/** A server that keeps what it gets; answers with these statuses first, then with 204. */
async function receiver(context, statuses = [], headers = {}) {
  const got = [];
  const server = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    got.push({ headers: request.headers, body: Buffer.concat(parts) });
    response.writeHead(statuses.shift() ?? 204, headers).end();
    server.emit('got');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, got, url: `http://127.0.0.1:${server.address().port}/` };
}

test('a message is delivered and its signature fits', { skip }, async (context) => {
  const made = await new Client(URL_OF, KEY).createApplication({ name: 'javascript' });
  const client = new Client(URL_OF, made.key);
  const { server, got, url } = await receiver(context);
  const arrived = once(server, 'got');
  const endpoint = await client.createEndpoint(made.id, { url });
  const body = { event_type: 'invoice.paid', payload: { amount: 10 } };
  const sent = await client.sendMessage(made.id, body, { idempotencyKey: 'invoice-17' });
  assert.equal(sent.repeated, false);
  const again = await client.sendMessage(made.id, body, { idempotencyKey: 'invoice-17' });
  assert.deepEqual([again.id, again.repeated], [sent.id, true]);
  await arrived;
  const webhook = new Webhook(endpoint.secret);
  assert.deepEqual(await webhook.verify(got[0].body, got[0].headers), { amount: 10 });
  await assert.rejects(webhook.verify(got[0].body + ' ', got[0].headers), SignatureError);
  const bytes = new Uint8Array([0, 255]);
  const raw = await client.sendRawMessage(made.id, bytes, { eventType: 'raw.bytes', contentType: 'application/x-test' });
  assert.deepEqual(await client.getPayload(made.id, raw.id), bytes);
  const ids = [];
  const list = (cursor) => client.listMessages(made.id, { cursor, limit: 1 });
  for await (const message of client.pages(list)) ids.push(message.id);
  assert.deepEqual(ids, [raw.id, sent.id]);
  assert.equal(await client.deleteEndpoint(made.id, endpoint.id), undefined);
});

test('a refusal says why', { skip }, async () => {
  const admin = new Client(URL_OF, KEY);
  const { id } = await admin.createApplication({ name: 'javascript' });
  const refused = (error) => error instanceof ApiError && error.status === 400 && error.problem.field === 'url';
  await assert.rejects(admin.createEndpoint(id, { url: 'ftp://example.com/' }), refused);
  await assert.rejects(new Client(URL_OF, 'sk_wrong').getApplication(id), { status: 401 });
  await assert.rejects(admin.getApplication('app_/../../audit'), { status: 404 });
  await assert.rejects(admin.getApplication('..'), { status: 404 });
});

test('a repeated send has the same key and waits for the hint', async (context) => {
  const { got, url } = await receiver(context, [503, 429], { 'retry-after': '7' });
  const waits = [];
  const transport = new Transport(url, 'key', { sleep: async (time) => waits.push(time) });
  await transport.call('POST', '/x', { json: {}, takesKey: true, reply: 'nothing' });
  assert.equal(new Set(got.map((it) => it.headers['idempotency-key'])).size, 1);
  assert.equal(got.length, 3);
  assert.ok(waits.every((wait) => wait >= 7000 && wait <= 7400), String(waits));
});

test('a post without a key is repeated only where nothing was done', async (context) => {
  for (const [status, requests] of [[503, 1], [429, 2], [400, 1]]) {
    const { got, url } = await receiver(context, [status]);
    const transport = new Transport(url, 'key', { sleep: async () => {} });
    await transport.call('POST', '/x', { json: {}, reply: 'nothing' }).catch((error) => assert.equal(error.status, status));
    assert.equal(got.length, requests, String(status));
  }
});

test('a hint beyond the bound ends the call', async (context) => {
  const { got, url } = await receiver(context, [503], { 'retry-after': '3600' });
  await assert.rejects(new Transport(url, 'key').call('GET', '/x', { reply: 'nothing' }), { retryAfter: 3_600_000 });
  assert.equal(got.length, 1);
});

test('the budget keeps retries to a tenth', async () => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let call = 0; call < 1000; call += 1) {
    budget.onCall();
    while (budget.take()) retries += 1;
  }
  assert.ok(retries >= 100 && retries <= 110, String(retries));
  const refused = new Transport('http://127.0.0.1:9', 'key', { sleep: async () => {} });
  for (let call = 0; call < 20; call += 1) {
    await assert.rejects(refused.call('GET', '/x', { reply: 'nothing' }), TransportError);
  }
  assert.equal(refused.budget.take(), false);
});

test('signatures are those of the standard', async () => {
  // The example of the specification.
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const body = '{"test": 2432232314}';
  const webhook = new Webhook(secret);
  assert.deepEqual(await webhook.verify(body, headers, 1614265330), { test: 2432232314 });
  const both = { ...headers, 'webhook-signature': `v1a,AAAA v1,!! ${headers['webhook-signature']}` };
  await webhook.verify(body, new Headers(both), 1614265330 + 300);
  for (const [changed, now] of [[`${body} `, 1614265330], [body, 1614265631], [body, 1614265029]]) {
    await assert.rejects(webhook.verify(changed, headers, now), SignatureError);
  }
  const other = `whsec_${Buffer.alloc(24, 'x').toString('base64')}`;
  await assert.rejects(new Webhook(other).verify(body, headers, 1614265330), SignatureError);
  await new Webhook([other, secret]).verify(body, headers, 1614265330);
  await assert.rejects(new Webhook('whsk_AAAA').verify(body, headers, 1614265330), TypeError);
});

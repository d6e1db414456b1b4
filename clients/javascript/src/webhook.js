// Signatures of received webhooks: Standard Webhooks 1.0.0, HMAC-SHA256 (`v1`).

// How far the timestamp may be from the receiver's clock, in seconds.
const TOLERANCE = 300;

export class SignatureError extends Error {
  constructor(message) {
    super(message);
    this.name = 'SignatureError';
  }
}

export class Webhook {
  constructor(secrets) {
    const texts = typeof secrets === 'string' ? [secrets] : [...secrets];
    if (texts.length === 0) throw new TypeError('secrets = []: must be at least one');
    this.keys = texts.map(importKey);
    // A key that cannot be imported is told by the first call.
    this.keys.forEach((key) => key.catch(() => {}));
  }

  async verify(body, headers, now) {
    const bytes = bytesOf(body);
    await this.verifyBytes(bytes, headers, now);
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  }

  async verifyBytes(body, headers, now = Date.now() / 1000) {
    const id = header(headers, 'webhook-id');
    const timestamp = header(headers, 'webhook-timestamp');
    const signatures = header(headers, 'webhook-signature');
    if (!/^[0-9]+$/.test(timestamp)) {
      throw new SignatureError('webhook-timestamp is not a number of seconds');
    }
    if (Math.abs(now - Number(timestamp)) > TOLERANCE) {
      throw new SignatureError(`webhook-timestamp is more than ${TOLERANCE} s off`);
    }
    const head = new TextEncoder().encode(`${id}.${timestamp}.`);
    const bytes = bytesOf(body);
    const signed = new Uint8Array(head.length + bytes.length);
    signed.set(head);
    signed.set(bytes, head.length);
    for (const part of signatures.split(' ')) {
      const given = part.startsWith('v1,') ? decode(part.slice(3)) : null;
      if (given === null) continue;
      for (const key of this.keys) {
        // Web Crypto compares in constant time.
        if (await crypto.subtle.verify('HMAC', await key, given, signed)) return;
      }
    }
    throw new SignatureError('no signature fits');
  }
}

async function importKey(secret) {
  const bytes = secret.startsWith('whsec_') ? decode(secret.slice(6)) : null;
  if (bytes === null) throw new TypeError('secret = (not shown): must be whsec_ and base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function header(headers, name) {
  const found = typeof headers.get === 'function' ? headers.get(name) : member(headers, name);
  if (found === undefined || found === null) throw new SignatureError(`the header ${name} is missing`);
  return found;
}

function member(headers, name) {
  const key = Object.keys(headers).find((key) => key.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return Array.isArray(value) ? value[0] : value;
}

function bytesOf(body) {
  return typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
}

function decode(base64) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) return null;
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

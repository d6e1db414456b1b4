// Requests to the dispatcher: connections, retries, and refusals as errors.

// The share of retries among all requests, and how many may be saved up.
const RETRY_SHARE = 0.1;
const RETRY_BURST = 10;

// The ceiling of the first delay and of the longest one, in milliseconds.
const BASE_DELAY = 200;
const LONGEST_DELAY = 10_000;

// Replies that can be another one later.
const RETRYABLE = new Set([429, 500, 502, 503, 504]);
const REPEATABLE = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

export class ApiError extends Error {
  constructor(status, problem, retryAfter) {
    super(`${status}: ${problem.detail ?? 'no reason is given'}`);
    this.name = 'ApiError';
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

export class TransportError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = 'TransportError';
  }
}

export class RetryBudget {
  constructor(share = RETRY_SHARE, burst = RETRY_BURST) {
    this.share = share;
    this.burst = burst;
    this.tokens = burst;
  }

  onCall() {
    this.tokens = Math.min(this.burst, this.tokens + this.share);
  }

  take() {
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}

/** A text as a part of a path. */
export function pathSegment(text) {
  // A segment of dots alone would name another path.
  return encodeURIComponent(text).replace(/^\.{1,2}$/, (dots) => dots.replaceAll('.', '%2E'));
}

export class Transport {
  constructor(url, key, options = {}) {
    const base = new URL(url);
    if (!['http:', 'https:'].includes(base.protocol)) {
      throw new TypeError(`url = ${url}: must be an http or https address`);
    }
    this.base = base.href.replace(/\/+$/, '');
    this.key = key;
    this.timeout = options.timeout ?? 30_000;
    this.maxAttempts = options.maxAttempts ?? 4;
    this.maxWait = options.maxWait ?? 60_000;
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.sleep = options.sleep ?? ((time) => new Promise((done) => setTimeout(done, time)));
    this.budget = new RetryBudget();
  }

  /** Makes a call, and resolves to its reply as `reply` says: nothing, json, text or bytes. */
  async call(method, path, parts) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parts.query ?? {})) {
      if (value !== undefined && value !== null) query.append(name, String(value));
    }
    const url = this.base + path + (query.size === 0 || query.toString() === '' ? '' : `?${query}`);
    const headers = { authorization: `Bearer ${this.key}`, accept: 'application/json, */*' };
    let body = parts.bytes;
    if (parts.json !== undefined) body = JSON.stringify(parts.json);
    if (body !== undefined) headers['content-type'] = parts.contentType ?? 'application/json';
    if (parts.takesKey) headers['idempotency-key'] = parts.idempotencyKey ?? crypto.randomUUID();
    // A message under a key is one message, however often it is sent.
    const repeatable = Boolean(parts.takesKey) || REPEATABLE.has(method);
    const data = await this.attempts({ method, url, headers, body }, repeatable);
    switch (parts.reply) {
      case 'json':
        return JSON.parse(new TextDecoder().decode(data));
      case 'text':
        return new TextDecoder().decode(data);
      case 'bytes':
        return data;
      default:
        return undefined;
    }
  }

  async attempts(request, repeatable) {
    this.budget.onCall();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(request);
      } catch (error) {
        const delay = this.delay(error, attempt, repeatable);
        if (delay === null) throw error;
        await this.sleep(delay);
      }
    }
  }

  /** The wait before the next attempt; null if there is none. */
  delay(error, attempt, repeatable) {
    let canHelp = repeatable && error instanceof TransportError;
    let hint = 0;
    if (error instanceof ApiError) {
      // 429 says that nothing was done.
      canHelp = error.status === 429 || (repeatable && RETRYABLE.has(error.status));
      hint = error.retryAfter ?? 0;
    }
    if (!canHelp || attempt >= this.maxAttempts) return null;
    const ceiling = Math.min(LONGEST_DELAY, BASE_DELAY * 2 ** (attempt - 1));
    const delay = hint + Math.random() * ceiling;
    return delay > this.maxWait || !this.budget.take() ? null : delay;
  }

  async attempt({ method, url, headers, body }) {
    let status;
    let hint;
    let data;
    try {
      // A redirect is a refusal: the key goes nowhere else.
      const settings = { method, headers, body, redirect: 'manual', signal: AbortSignal.timeout(this.timeout) };
      const response = await this.fetch(url, settings);
      status = response.status;
      hint = response.headers.get('retry-after') ?? '';
      data = new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      const why = error?.cause?.message ?? error?.message ?? String(error);
      throw new TransportError(`no reply from ${this.base}: ${why}`, { cause: error });
    }
    if (status >= 200 && status < 300) return data;
    throw new ApiError(status, problemOf(data), /^[0-9]+$/.test(hint) ? Number(hint) * 1000 : null);
  }
}

function problemOf(data) {
  try {
    const problem = JSON.parse(new TextDecoder().decode(data));
    return typeof problem === 'object' && problem !== null ? problem : {};
  } catch {
    return {};
  }
}

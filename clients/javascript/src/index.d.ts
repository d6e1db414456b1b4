// The types of the package.

import { ApiMethods, Problem } from './api.js';

export * from './api.js';

/** The bounds of calls. */
export interface ClientOptions {
  /** The time for one attempt, in milliseconds: default 30 000. */
  timeout?: number;
  /** The most attempts of a call: default 4. */
  maxAttempts?: number;
  /** The longest wait before an attempt, in milliseconds, also if `Retry-After` asks for more: default 60 000. */
  maxWait?: number;
  /** The function for requests: default the global `fetch`. */
  fetch?: typeof fetch;
}

/** A dispatcher and a key to it: that of an application, of an operator, or the admin key. */
export declare class Client extends ApiMethods {
  constructor(url: string, key: string, options?: ClientOptions);
  /** All entries of a list, over all its pages: `client.pages((cursor) => client.listMessages(app, { cursor }))`. */
  pages<T>(list: (cursor?: string) => Promise<{ items: T[]; next?: string | null }>): AsyncGenerator<T>;
}

/** A refusal of the dispatcher. */
export declare class ApiError extends Error {
  readonly status: number;
  /** The document of the refusal (RFC 9457), as far as there is one. */
  readonly problem: Partial<Problem>;
  /** The time for which the dispatcher asks not to be called, in milliseconds. */
  readonly retryAfter: number | null;
}

/** No reply: the connection failed, or the time was over. */
export declare class TransportError extends Error {}

/** Keeps retries few: a tenth of the requests, and a few more at first. */
export declare class RetryBudget {
  constructor(share?: number, burst?: number);
  onCall(): void;
  take(): boolean;
}

/** A message that is not accepted, and why. */
export declare class SignatureError extends Error {}

/** The headers of a request: those of `fetch`, or an object as Node has it. */
export type ReceivedHeaders = Headers | Record<string, string | string[] | undefined>;

/** Verifies messages with the secrets of an endpoint: one, or several while one is replaced. */
export declare class Webhook {
  /** `whsec_` and base64 (HMAC-SHA256). */
  constructor(secrets: string | string[]);
  /** Checks the signature over the body as received, and resolves to its JSON. `now` is in seconds since 1970. */
  verify(body: Uint8Array | string, headers: ReceivedHeaders, now?: number): Promise<unknown>;
  /** The same for a body that is no JSON. */
  verifyBytes(body: Uint8Array | string, headers: ReceivedHeaders, now?: number): Promise<void>;
}

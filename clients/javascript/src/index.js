// A client of stagger's webhook dispatcher.

import { ApiMethods } from './api.js';
import { Transport } from './transport.js';

export { API_VERSION } from './api.js';
export { ApiError, RetryBudget, TransportError } from './transport.js';
export { SignatureError, Webhook } from './webhook.js';

/** A dispatcher and a key to it. */
export class Client extends ApiMethods {
  constructor(url, key, options = {}) {
    super(new Transport(url, key, options));
  }

  /** All entries of a list, over all its pages. */
  async *pages(list) {
    let cursor;
    do {
      const page = await list(cursor);
      yield* page.items;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }
}

/** Whether the worker's namespace has Everlap's search attributes; asked now and then, not for each run. */
import { Context } from '@temporalio/activity';
import { hasSearchAttributes } from '../dev/search-attributes.js';

/** Somebody may run `everlap setup` while workers live. */
const ASK_AGAIN_MS = 60_000;

export function hasSearchAttributesCached(): () => Promise<boolean> {
  let known: { readonly at: number; readonly answer: Promise<boolean> } | undefined;
  return () => {
    if (known === undefined || Date.now() - known.at > ASK_AGAIN_MS) {
      const { client, info, log } = Context.current();
      const answer = hasSearchAttributes(client.connection, info.namespace).catch((error: unknown) => {
        // A run is worth more than its filters: it goes on without them.
        log.warn('Search attributes could not be asked for; runs go on without them.', { error });
        return false;
      });
      known = { at: Date.now(), answer };
    }
    return known.answer;
  };
}

/** A run's whole history as one text, payloads decoded: for tests that look for what must not be in it. */
import type { RunHandle } from 'everlap/client';

export async function readableHistory(run: RunHandle): Promise<string> {
  const history = await run.temporal.fetchHistory();
  // The events know how to become JSON, with bytes as base64.
  return JSON.stringify(history, (key, value: unknown) =>
    key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : value,
  );
}

/** Bounds what a server may send over HTTP: the SDK reads whole bodies, and whole events, into memory. */

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * The same response, whose body fails when it has more than `maxBytes`; an event stream, which may live for days, when one
 * event has.
 * @param onTooLong is called then, before the body fails.
 */
export function boundedBody(response: Response, maxBytes: number, onTooLong: () => void): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
  let bytes = 0;
  let isLineEmpty = true;
  const count = (chunk: Uint8Array): void => {
    if (!isStream) {
      bytes += chunk.length;
      return;
    }
    for (const byte of chunk) {
      bytes += 1;
      if (byte === CARRIAGE_RETURN) continue;
      // An empty line ends an event.
      if (byte === LINE_FEED && isLineEmpty) bytes = 0;
      isLineEmpty = byte === LINE_FEED;
    }
  };
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      count(chunk);
      if (bytes <= maxBytes) return controller.enqueue(chunk);
      onTooLong();
      controller.error(new Error(`It sent a message of more than ${maxBytes} bytes.`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bound), { status, statusText, headers });
}

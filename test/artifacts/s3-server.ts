/**
 * As much of S3 as the artifact store and Temporal's storage driver use, over HTTP, in memory; answered as S3 does, so that the
 * real SDK reads it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeS3 {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  close(): Promise<void>;
}

export async function startFakeS3(): Promise<FakeS3> {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const key = decodeURIComponent(new URL(request.url ?? '/', 'http://s3').pathname);
    const fail = (status: number, code: string): void => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}.</Message></Error>`);
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'PUT') {
        objects.set(key, Buffer.concat(chunks));
        response.writeHead(200, { etag: '"1"' }).end();
        return;
      }
      const object = objects.get(key);
      if (object === undefined) return fail(404, 'NoSuchKey');
      if (request.method === 'HEAD' || request.headers.range === undefined) {
        response.writeHead(200, { 'content-length': object.length });
        response.end(request.method === 'HEAD' ? undefined : object);
        return;
      }
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      const from = Number(first);
      if (from >= object.length) return fail(416, 'InvalidRange');
      const part = object.subarray(from, Number(last) + 1);
      const range = `bytes ${from}-${from + part.length - 1}/${object.length}`;
      response.writeHead(206, { 'content-range': range, 'content-length': part.length }).end(part);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

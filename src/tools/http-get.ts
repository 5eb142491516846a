/**
 * One bounded GET for a URL that a model made up: public addresses only, each redirect checked as the first was, time
 * and size limited. Knows nothing of what the body means.
 */
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ToolError } from '../agents/tool-error.js';
import { errorText } from '../activities/error-text.js';
import { cut } from '../conversation/cut-text.js';
import { isPublicAddress } from './public-address.js';

export interface GetLimits {
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly timeoutMs: number;
  /** Hosts (`name`, or `name:port`) that may be asked although their addresses are private. */
  readonly allow: readonly string[];
}

export interface GetAnswer {
  /** After all redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Decompressed; at most `maxBytes` of it. */
  readonly body: Buffer;
  readonly cut: boolean;
}

const REDIRECTS = [301, 302, 303, 307, 308];

/** @throws ToolError with a sentence for whatever goes wrong; the signal's reason where it was aborted. */
export async function httpGet(address: string, limits: GetLimits, signal: AbortSignal): Promise<GetAnswer> {
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  const either = AbortSignal.any([signal, timeout]);
  let url = checkedUrl(address, undefined, limits);
  try {
    for (let redirects = 0; ; redirects += 1) {
      const response = await request(url, limits, either);
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (!REDIRECTS.includes(status) || location === undefined) {
        return { url, status, headers: response.headers, ...(await bodyOf(response, limits.maxBytes)) };
      }
      response.destroy();
      if (redirects === limits.maxRedirects) {
        throw new ToolError(`${shownUrl(url)} redirects more than ${limits.maxRedirects} times.`);
      }
      url = checkedUrl(location, url, limits);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ToolError) throw error;
    const reason = timeout.aborted ? `it took longer than ${limits.timeoutMs / 1000} seconds` : errorText(error);
    throw new ToolError(`${shownUrl(url)} could not be fetched: ${reason}.`);
  }
}

function checkedUrl(address: string, base: URL | undefined, limits: GetLimits): URL {
  const from = base === undefined ? '' : `, to which ${shownUrl(base)} redirects,`;
  if (!URL.canParse(address, base?.href)) throw new ToolError(`${JSON.stringify(cut(address, 200))}${from} is no URL.`);
  const url = new URL(address, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ToolError(`${shownUrl(url)}${from} is not fetched: only http and https are.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolError(`${url.host}${from} is not fetched: the URL has a user name or password in it.`);
  }
  // An address instead of a name is never looked up, so it is looked at here. URL has written it in its usual form.
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isPublicAddress(host) && !isAllowed(url, limits)) {
    throw new ToolError(`${shownUrl(url)}${from} is not fetched: ${host} is no public address.`);
  }
  return url;
}

function isAllowed(url: URL, { allow }: GetLimits): boolean {
  return allow.includes(url.host) || allow.includes(url.hostname);
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function shownUrl(url: URL): string {
  return cut(url.href, 200);
}

function request(url: URL, limits: GetLimits, signal: AbortSignal): Promise<IncomingMessage> {
  const { get, Agent } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const sent = get(
      url,
      {
        // Its own: the global one may go through a proxy, which looks names up by itself.
        agent: new Agent({ keepAlive: false }),
        headers: {
          accept: 'text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1',
          'accept-encoding': 'gzip, deflate, br',
          'user-agent': 'Mozilla/5.0 (compatible; everlap)',
        },
        lookup: isAllowed(url, limits) ? dnsLookup : publicLookup(dnsLookup),
        signal,
      },
      resolve,
    );
    sent.on('error', reject);
  });
}

type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A lookup that fails for names with a private address. The connection goes to the very addresses checked here. */
export function publicLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const [first] = addresses;
      const hidden = addresses.find(({ address }) => !isPublicAddress(address));
      if (first === undefined || hidden !== undefined) {
        const why = hidden === undefined ? 'it has no address' : 'its address is not a public one';
        return callback(new ToolError(`${hostname} is not fetched: ${why}.`), []);
      }
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<{ body: Buffer; cut: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of decompressed(response) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) break;
    }
  } finally {
    response.destroy();
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), cut: bytes > maxBytes };
}

function decompressed(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return response;
  const decoders = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress };
  if (!Object.hasOwn(decoders, encoding)) {
    throw new ToolError(`The page is compressed by ${JSON.stringify(cut(encoding, 50))}, which cannot be read.`);
  }
  const decoder = decoders[encoding as keyof typeof decoders]();
  // Not pipeline(): it would call the end of reading early an error.
  response.on('error', (error) => decoder.destroy(error));
  return response.pipe(decoder);
}

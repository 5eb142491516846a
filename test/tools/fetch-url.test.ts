import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fetchUrl, type FetchUrlOptions } from '../../src/tools/index.js';
import { readableText } from '../../src/tools/html-text.js';
import { publicLookup } from '../../src/tools/http-get.js';
import { isPublicAddress } from '../../src/tools/public-address.js';
import { callTool } from './tool-context.js';

interface Site {
  readonly host: string;
  readonly url: string;
  readonly requested: string[];
  readonly openConnections: () => Promise<number>;
}

async function site(listener: RequestListener): Promise<Site> {
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(request.url ?? '');
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const openConnections = () =>
    new Promise<number>((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  return { host, url: `http://${host}`, requested, openConnections };
}

const answering = (body: string | Buffer, headers: Record<string, string> = {}, status = 200) =>
  site((_, response) => response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body));

const fetching = (url: string, options: FetchUrlOptions = {}, signal?: AbortSignal) =>
  callTool(fetchUrl(options), { url }, '/nowhere', signal && { signal });

const from = ({ url, host }: Site, options: FetchUrlOptions = {}, path = '/') =>
  fetching(url + path, { allow: [host], ...options });

describe('pages', () => {
  test('text as it is; JSON; nothing', async () => {
    expect(await from(await answering('hä 😀\n'))).toBe('hä 😀\n');
    expect(await from(await answering('{"a":1}', { 'content-type': 'application/vnd.api+json; charset=utf-8' }))).toBe(
      '{"a":1}',
    );
    expect(await from(await answering('', {}, 204))).toBe('[The page is empty.]');
  });

  test('HTML goes through htmlToText, other text does not', async () => {
    const htmlToText = (html: string, url: URL) => `${url.pathname} ${html.replaceAll(/<[^>]*>/g, '')}`;
    const html = await answering('<p>words</p>', { 'content-type': 'text/html' });
    expect(await from(html, { htmlToText }, '/page')).toBe('/page words');
    expect(await from(html)).toBe('words');
    expect(await from(await answering('<p>'), { htmlToText })).toBe('<p>');
  });

  test.each<[string, Buffer, Record<string, string>]>([
    ['by header', Buffer.from('gr\xfcn', 'latin1'), { 'content-type': 'text/plain; charset="ISO-8859-1"' }],
    ['by meta', Buffer.from('<meta charset=latin1>gr\xfcn', 'latin1'), { 'content-type': 'text/html' }],
    ['unknown', Buffer.from('grün'), { 'content-type': 'text/plain; charset=klingon' }],
    ['gzip', gzipSync('grün'), { 'content-encoding': 'gzip' }],
    ['brotli', brotliCompressSync('grün'), { 'content-encoding': 'br' }],
    ['no type', Buffer.from('grün'), { 'content-type': '' }],
  ])('encodings: %s', async (_, body, headers) => {
    expect(await from(await answering(body, headers))).toMatch(/grün$/);
  });

  test('redirects are followed, within a limit, and told', async () => {
    const hops = await site((request, response) => {
      const step = Number(request.url!.slice(1));
      if (step > 0) response.writeHead(302, { location: `./${step - 1}` }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('there');
    });
    expect(await from(hops, {}, '/5')).toBe(`[Redirected to ${hops.url}/0]\nthere`);
    await expect(from(hops, {}, '/6')).rejects.toThrow('redirects more than 5 times');
  });
});

describe('refusals, each a sentence for the model', () => {
  test.each([
    'nonsense',
    '/a',
    'file:///etc/passwd',
    'ftp://a.example/',
    'data:text/plain,x',
    'http://user:pw@a.example/',
    'http://',
  ])('%s', async (url) => {
    const attempt = fetching(url);
    await expect(attempt).rejects.toMatchObject({ name: 'ToolError' });
    await expect(attempt).rejects.toThrow(/is no URL|only http and https|user name or password/);
  });

  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0',
    '0.0.0.0',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:a9fe:a9fe]',
    '[::7f00:1]',
    '[fe80::1]',
    '[fd00::1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[ff02::1]',
    '１２７.0.0.1',
    '127。0。0。1',
  ])('the private address %s', async (host) => {
    await expect(fetching(`http://${host}/`)).rejects.toThrow(/is no public address/);
  });

  test('a name with a private address, and no request is made', async () => {
    const secret = await answering('secret');
    const port = secret.host.split(':')[1];
    for (const host of ['localhost', 'LOCALHOST']) {
      await expect(fetching(`http://${host}:${port}/`)).rejects.toThrow(/its address is not a public one/);
    }
    expect(secret.requested).toEqual([]);
  });

  test('a redirect to one, also by name or scheme', async () => {
    const secret = await answering('secret');
    const port = secret.host.split(':')[1];
    for (const location of [
      secret.url,
      `//localhost:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}`,
      'file:///etc/passwd',
      'http://169.254.169.254/latest',
    ]) {
      const public_ = await answering('', { location }, 302);
      await expect(from(public_), location).rejects.toThrow(/no public address|not a public one|only http and https/);
    }
    expect(secret.requested).toEqual([]);
  });

  test('a name whose address changes between two questions', async () => {
    const answers = [[{ address: '93.184.216.34', family: 4 }], [{ address: '127.0.0.1', family: 4 }]];
    let asked = 0;
    const lookup = publicLookup((_host, _options, callback) => callback(null, answers[Math.min(asked++, 1)]!));
    const resolve = (options: Parameters<LookupFunction>[1]) =>
      new Promise((done) => lookup('a.example', options, (error, address) => done(error?.message ?? address)));
    expect(await resolve({ all: true })).toEqual(answers[0]);
    expect(await resolve({})).toBe('a.example is not fetched: its address is not a public one.');
    const mixed = publicLookup((_host, _options, callback) => callback(null, answers.flat()));
    expect(await new Promise((done) => mixed('a.example', { all: true }, (error) => done(error?.message)))).toMatch(
      /not a public one/,
    );
  });

  test('what is no text, an error status', async () => {
    await expect(from(await answering(Buffer.from([0x89, 0x50]), { 'content-type': 'image/png' }))).rejects.toThrow(
      'is not text but image/png',
    );
    await expect(
      from(await answering(Buffer.from([1, 0, 2]), { 'content-type': 'application/octet-stream' })),
    ).rejects.toThrow('is not text');
    await expect(from(await answering('x', { 'content-encoding': 'zstd' }))).rejects.toThrow('compressed by "zstd"');
    await expect(from(await answering('x', { 'content-encoding': '__proto__' }))).rejects.toThrow('compressed by');
    await expect(from(await answering('no gzip', { 'content-encoding': 'gzip' }))).rejects.toThrow(
      'could not be fetched',
    );
    await expect(from(await answering('no such page', {}, 404))).rejects.toThrow(
      /answered with status 404\. no such page$/,
    );
  });

  test('nobody there, a cut body', async () => {
    const gone = await answering('x');
    await expect(fetching('http://127.0.0.1:1/', { allow: ['127.0.0.1'] })).rejects.toThrow(
      /could not be fetched: .*ECONNREFUSED/,
    );
    const cutting = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('x');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(from(cutting)).rejects.toThrow('could not be fetched');
    expect(gone.requested).toEqual([]);
  });
});

describe('bounds', () => {
  const endless = (chunk: Buffer, headers: Record<string, string> = {}) =>
    site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', ...headers });
      const more = () => {
        while (response.write(chunk));
      };
      response.on('drain', more);
      more();
    });

  test('a body without end is cut off, on a whole character, and its connection closed', async () => {
    const page = await endless(Buffer.from('ü'.repeat(50_000)), { 'content-length': '1000000000' });
    expect(await from(page, { maxBytes: 100_001 })).toBe(`${'ü'.repeat(50_000)}\n[Cut off after 100001 bytes.]`);
    await expect.poll(page.openConnections, { timeout: 10_000 }).toBe(0);
  });

  test('a small answer that unpacks to a gigabyte', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, 'x'));
    const text = String(await from(await answering(bomb, { 'content-encoding': 'gzip' }), { maxBytes: 1_000 }));
    expect(text).toBe(`${'x'.repeat(1_000)}\n[Cut off after 1000 bytes.]`);
  });

  test('a server that says nothing, or little by little', async () => {
    const silent = await site(() => {});
    await expect(from(silent, { timeout: 200 })).rejects.toThrow('it took longer than 0.2 seconds');
    await expect.poll(silent.openConnections, { timeout: 10_000 }).toBe(0);
    const slow = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    await expect(from(slow, { timeout: 300 })).rejects.toThrow('it took longer than 0.3 seconds');
  });

  test('an abort ends it with the reason it was given', async () => {
    const silent = await site(() => {});
    const abort = new AbortController();
    const reason = new Error('cancelled');
    const running = fetching(silent.url, { allow: [silent.host] }, abort.signal);
    await expect.poll(() => silent.requested.length, { timeout: 10_000 }).toBe(1);
    abort.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expect.poll(silent.openConnections, { timeout: 10_000 }).toBe(0);
  });
});

describe('HTML that is made to keep a worker busy', () => {
  test.each<[string, string, RegExp]>([
    ['nested for minutes', '<div>'.repeat(400_000), /cannot be made readable: it took longer than 0.5 seconds/],
    ['nested beyond any stack', '<table><tr><td>'.repeat(20_000), /cannot be made readable: (RangeError|it took)/],
  ])('%s', async (_, html, words) => {
    const attempt = readableText(html, new AbortController().signal, html.includes('div') ? 500 : 30_000);
    await expect(attempt).rejects.toMatchObject({ name: 'ToolError' });
    await expect(attempt).rejects.toThrow(words);
  });

  test('an abort ends it, with the reason it was given', async () => {
    const abort = new AbortController();
    const reason = new Error('cancelled');
    const running = readableText('<div>'.repeat(400_000), abort.signal);
    setTimeout(() => abort.abort(reason), 100);
    await expect(running).rejects.toBe(reason);
  });
});

test('public addresses', () => {
  for (const address of [
    '1.1.1.1',
    '93.184.216.34',
    '172.32.0.1',
    '192.169.0.1',
    '2606:4700::1111',
    '2a00:1450:4001::1',
  ]) {
    expect(isPublicAddress(address), address).toBe(true);
  }
  for (const address of [
    '',
    'a.example',
    '1.1.1',
    '[::1]',
    'fe80::1%eth0',
    '::1%1',
    '255.255.255.255',
    '224.0.0.1',
    '2001::1',
    '3fff::1',
  ]) {
    expect(isPublicAddress(address), address).toBe(false);
  }
  fc.assert(fc.property(fc.ipV4(), (v4) => !isPublicAddress(`::ffff:${v4}`)));
});

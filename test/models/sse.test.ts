/** Events from bytes, whatever the line ends and the cuts. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SseParser } from '../../src/models/sse.js';

function parse(...parts: Uint8Array[]) {
  const parser = new SseParser();
  return [...parts.flatMap((part) => parser.push(part)), ...parser.end()];
}

const bytes = (text: string) => new TextEncoder().encode(text);
const data = (...texts: string[]) => texts.map((text) => ({ event: '', data: text }));

it.each([
  ['data: a\n\ndata: b\n\n', data('a', 'b')],
  ['data: a\r\n\r\ndata: b\r\n\r\n', data('a', 'b')],
  ['data: a\r\rdata: b\r\r', data('a', 'b')],
  ['data:a\ndata: b\n\n', data('a\nb')],
  [': comment\n\n:\n\ndata: a\n\n', data('a')],
  ['event: error\ndata: a\n\ndata: b\n\n', [{ event: 'error', data: 'a' }, ...data('b')]],
  ['id: 1\nretry: 5\nerror: {}\ndata\n\n', data('')],
  ['\ufeffdata: a\n\n', data('a')],
  ['data: a\n', data('a')],
  ['data: a', data('a')],
  ['event: x\n\n', []],
  ['', []],
])('%j', (text, events) => {
  expect(parse(bytes(text))).toEqual(events);
  expect(parse(...[...bytes(text)].map((byte) => Uint8Array.of(byte)))).toEqual(events);
});

it('reads the same from any cut', () => {
  const line = fc.constantFrom('data: 🌍é', 'data:', 'event: error', ': x', '', 'data: {"a":1}');
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const text = fc.array(fc.tuple(line, end)).map((lines) => bytes(lines.flat().join('')));
  fc.assert(
    fc.property(text, fc.array(fc.nat(200)), (body, cuts) => {
      const places = [0, ...cuts.filter((cut) => cut < body.length).sort((a, b) => a - b), body.length];
      expect(parse(...places.slice(1).map((to, at) => body.subarray(places[at], to)))).toEqual(parse(body));
    }),
  );
});

it('tells how much waits for the end of an event', () => {
  const parser = new SseParser();
  parser.push(bytes('data: abc'));
  expect(parser.pending).toBe(9);
  parser.push(bytes('\n\n'));
  expect(parser.pending).toBe(0);
});

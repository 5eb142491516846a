/** What MCP tools answer, as text; lines out of chunks; keys kept out. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Lines } from '../../src/mcp/lines.js';
import { resultText } from '../../src/mcp/result-text.js';
import { Secrets } from '../../src/mcp/secrets.js';

const says = (words: string) => ({ type: 'text', text: words });
const data = Buffer.from('hello').toString('base64');

describe('resultText', () => {
  test.each<[string, unknown, string]>([
    ['texts are joined', { content: [says('one'), says('two')] }, 'one\ntwo'],
    ['an image', { content: [{ type: 'image', mimeType: 'image/png', data }] }, '[image: image/png, 5 bytes]'],
    ['a sound', { content: [{ type: 'audio', mimeType: 'audio/wav', data }] }, '[audio: audio/wav, 5 bytes]'],
    [
      'a resource with text',
      { content: [{ type: 'resource', resource: { uri: 'a:b', mimeType: 'text/plain', text: 'words' } }] },
      '[resource: a:b, text/plain]\nwords',
    ],
    [
      'a resource of bytes',
      { content: [{ type: 'resource', resource: { uri: 'a:b', blob: data } }] },
      '[resource: a:b, 5 bytes]',
    ],
    [
      'a link',
      { content: [{ type: 'resource_link', uri: 'a:b', name: 'B', size: 12_345 }] },
      '[resource link: B, a:b, 12,345 bytes]',
    ],
    ['structure alone', { structuredContent: { a: 1 } }, '{"a":1}'],
    ['structure that is said already', { content: [says('{ "a": 1 }')], structuredContent: { a: 1 } }, '{ "a": 1 }'],
    ['structure that says more', { content: [says('one')], structuredContent: { a: 1 } }, 'one\n{"a":1}'],
    ['nothing', { content: [] }, '(no result)'],
    ['nothing at all', {}, '(no result)'],
    ['an unknown kind', { content: [{ type: 'video', frames: 3 }] }, '{"type":"video","frames":3}'],
    ['a part that is none', { content: [7] }, '7'],
    ['an odd shape', { content: 'words' }, '{"content":"words"}'],
    ['no object', 'words', 'words'],
  ])('%s', (_, result, text) => expect(resultText(result)).toEqual({ text, isError: false }));

  test('an error is one, with words or without', () => {
    expect(resultText({ content: [says('No.')], isError: true })).toEqual({ text: 'No.', isError: true });
    expect(resultText({ isError: true })).toEqual({ text: 'The tool failed without a word.', isError: true });
  });

  test('property: it never throws', () => {
    const reads = (value: unknown): void => {
      expect(typeof resultText(value).text).toBe('string');
    };
    fc.assert(fc.property(fc.anything(), reads));
    fc.assert(fc.property(fc.array(fc.anything()), (content) => reads({ content })));
  });
});

describe('Lines', () => {
  const read = (max: number, chunks: readonly string[]) => {
    const lines: string[] = [];
    const tooLong: string[] = [];
    const reader = new Lines(
      max,
      (line) => lines.push(line),
      (beginning) => tooLong.push(beginning),
    );
    for (const chunk of chunks) reader.push(chunk);
    reader.end();
    return { lines, tooLong };
  };

  test('property: however it is cut, the lines are the same', () => {
    const line = fc.string({ minLength: 1 }).filter((text) => !/[\r\n]/.test(text));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(50)), (lines, cuts) => {
        const whole = lines.map((one, index) => one + (index % 2 === 0 ? '\n' : '\r\n')).join('');
        const chunks: string[] = [];
        let rest = whole;
        for (const at of cuts) {
          chunks.push(rest.slice(0, at));
          rest = rest.slice(at);
        }
        expect(read(1000, [...chunks, rest]).lines).toEqual(lines);
      }),
    );
  });

  test('a line without end is told once and dropped; the next one is read', () => {
    expect(read(10, ['x'.repeat(8), 'y'.repeat(8), 'z'.repeat(8), '\nnext\n'])).toEqual({
      lines: ['next'],
      tooLong: ['xxxxxxxxyy'],
    });
  });
});

test('Secrets: headers whole and without their scheme, variables by their names; nothing too short to be a key', () => {
  const secrets = new Secrets();
  secrets.addHeaders({ authorization: 'Bearer abcdefgh', 'x-short': 'abc' });
  secrets.addEnvironment({ GITHUB_TOKEN: 'tokentoken', db_password: 'hunter22', MODE: 'production' });
  expect(secrets.hide('Bearer abcdefgh, abcdefgh, abc, tokentoken, hunter22, production')).toBe(
    '[secret], [secret], abc, [secret], [secret], production',
  );
});

/** What a model sees of long results, and that it can read all the rest of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ArtifactStore } from '../../src/artifacts/artifact-store.js';
import { boundResult, type Bounded } from '../../src/artifacts/bound-result.js';
import { readResult } from '../../src/tools/read-result.js';
import { toolContext } from '../tools/tool-context.js';

const never = new AbortController().signal;
const of = (more: Partial<Bounded> = {}): Bounded => ({
  call: { runId: 'run', lap: 1, turn: 1, callId: 'c', idempotencyKey: 'run/1/1/0/x' },
  ...more,
});

function memoryStore(): ArtifactStore & { readonly stored: Map<string, Buffer> } {
  const stored = new Map<string, Buffer>();
  return {
    stored,
    put: async (key, bytes) => void stored.set(key, Buffer.from(bytes)),
    get: async (key, from, length) => {
      const bytes = stored.get(key);
      return bytes === undefined ? null : { bytes: bytes.subarray(from, from + length), size: bytes.length };
    },
  };
}

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));
const read = async (store: ArtifactStore, args: object, maxChars = 2000, runId = 'run'): Promise<string> =>
  String(await readResult(store, maxChars).execute(args, toolContext('/', { call: { ...of().call, runId } })));
const noteOf = (shown: string) => {
  const [, size, id, from] =
    /\[Cut: (\d+) bytes in all\. Read on with read_result: result "(r[0-9a-f]{16})", from (\d+)/.exec(shown) ?? [];
  return { size: Number(size), id: id ?? '', from: Number(from) };
};

const anyLongText = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'Zürich', '🌍', '漢字', '\n', '"', '\u0000', ' word'), {
      minLength: 1,
      maxLength: 20,
    }),
    fc.integer({ min: 200, max: 6000 }),
  )
  .map(([parts, times]) => parts.join('').repeat(times));

describe('a result that is too long', () => {
  it('is shown with head, tail, size and how to read on; within its bounds; and can be read whole', async () => {
    await fc.assert(
      fc.asyncProperty(anyLongText, fc.constantFrom(200, 500, 2000), async (text, maxChars) => {
        const store = memoryStore();
        const shown = await boundResult(store, text, of({ maxChars }), never);
        expect(shown.length).toBeLessThanOrEqual(maxChars);
        expect(jsonBytes(shown)).toBeLessThanOrEqual(2 * maxChars + 2);
        expect(shown.isWellFormed()).toBe(true);
        if (shown === text) return;
        const { size, id, from } = noteOf(shown);
        expect(size).toBe(Buffer.byteLength(text));
        let whole = text.slice(0, Buffer.from(text).subarray(0, from).toString().length);
        expect(shown.startsWith(whole)).toBe(true);
        for (let next: number | undefined = from; next !== undefined;) {
          const page = await read(store, { result: id, from: next }, 2000);
          expect(page.length).toBeLessThanOrEqual(2000);
          expect(jsonBytes(page)).toBeLessThanOrEqual(4002);
          const [note = '', , rest] =
            /\n\[Bytes \d+ to (\d+) of \d+\.(?: Read on from (\d+)\.| That is the end\.)\]$/.exec(page) ?? [];
          expect(note).not.toBe('');
          whole += page.slice(0, -note.length);
          next = rest === undefined ? undefined : Number(rest);
          if (whole.length > 40_000) return;
        }
        expect(whole).toBe(text);
      }),
      { numRuns: 60 },
    );
  });

  it('of exactly the most is shown whole', async () => {
    const store = memoryStore();
    expect(await boundResult(store, 'x'.repeat(20_000), of(), never)).toBe('x'.repeat(20_000));
    expect(store.stored.size).toBe(0);
    expect(await boundResult(store, 'x'.repeat(20_001), of(), never)).toHaveLength(20_000);
  });

  it('is stored under the same key on every attempt', async () => {
    const store = memoryStore();
    await boundResult(store, 'x'.repeat(30_000), of(), never);
    await boundResult(store, 'y'.repeat(40_000), of(), never);
    expect([...store.stored.values()].map((bytes) => bytes.length)).toEqual([40_000]);
  });

  it('is only cut where the model has no read_result', async () => {
    const store = memoryStore();
    const shown = await boundResult(store, 'x'.repeat(30_000), of({ stored: false }), never);
    expect(shown).toContain('characters left out');
    expect(store.stored.size).toBe(0);
  });

  it.each<[string, ArtifactStore['put'], RegExp]>([
    ['fails', () => Promise.reject(new Error('the disk is full')), /could not be stored \(the disk is full\)/],
    ['never ends', () => new Promise(() => undefined), /could not be stored \(it took too long\)/],
    [
      'throws something giant',
      () => {
        throw new Error('e'.repeat(5_000_000));
      },
      /could not be stored \(eee/,
    ],
  ])('is cut, and says so, where the store %s', async (_, put, said) => {
    const shown = await boundResult({ ...memoryStore(), put }, 'x'.repeat(30_000), of(), AbortSignal.timeout(50));
    expect(shown).toMatch(said);
    expect(shown.length).toBeLessThanOrEqual(20_000);
  });
});

describe('read_result', () => {
  const store = memoryStore();
  const text = Array.from(
    { length: 20_000 },
    (_, line) => `line ${line} of Zürich${line % 5000 === 7 ? ' NEEDLE' : ''}\n`,
  ).join('');
  const stored = boundResult(store, text, of(), never).then(noteOf);

  it('finds a text, tells where, and reads there', async () => {
    const { id, size } = await stored;
    const found = await read(store, { result: id, search: 'needle' });
    const places = [...found.matchAll(/^byte (\d+): .*NEEDLE.*$/gm)].map(([, at]) => Number(at));
    expect(places).toHaveLength(4);
    expect(found).toMatch(/\[No more matches\.\]$/);
    expect(await read(store, { result: id, from: places[1], bytes: 16 })).toMatch(/^NEEDLE\nline 5008/);
    expect(await read(store, { result: id, from: places[3]! + 1, search: 'needle' })).toBe(
      `[Not found from byte ${places[3]! + 1} on, of ${size}.]`,
    );
    expect(await read(store, { result: id, search: 'ZÜRICH' })).toMatch(/^\[Not found/);
  });

  it('shows some of many matches, and where to search on', async () => {
    const { id } = await stored;
    const seen = new Set<string>();
    let from = 0;
    for (let pages = 0; pages < 3; pages += 1) {
      const found = await read(store, { result: id, search: 'line', from }, 1000);
      expect(found.length).toBeLessThanOrEqual(1000);
      for (const [, at = ''] of found.matchAll(/^byte (\d+):/gm)) {
        expect(seen.has(at)).toBe(false);
        seen.add(at);
      }
      from = Number(/Search on from (\d+)/.exec(found)?.[1]);
    }
    expect(seen.size).toBeGreaterThan(5);
  });

  it('finds what lies over the edge of two chunks', async () => {
    const big = memoryStore();
    const edge = 4 * 1024 * 1024;
    const { id } = noteOf(await boundResult(big, `${'x'.repeat(edge - 3)}Needle${'y'.repeat(edge)}`, of(), never));
    expect(await read(big, { result: id, search: 'needle' })).toMatch(
      new RegExp(`^byte ${edge - 3}: x+Needley+\n\\[No more matches\\.\\]$`),
    );
  });

  it('says what is wrong with its arguments', async () => {
    const { id, size } = await stored;
    await expect(read(store, { result: 'r0000000000000000' })).rejects.toThrow(
      'There is no stored result "r0000000000000000" of this run (any more).',
    );
    await expect(read(store, { result: '../../etc/passwd' })).rejects.toThrow('There is no stored result');
    await expect(read(store, { result: id }, 2000, 'another-run')).rejects.toThrow('of this run');
    expect(await read(store, { result: id, from: size + 5 })).toBe(
      `[The result has ${size} bytes; there is nothing from byte ${size + 5} on.]`,
    );
  });
});

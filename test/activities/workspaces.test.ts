import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openWorkspaceOf, workspaceName } from '../../src/activities/workspaces.js';

/** Anything, and things that fight back. */
const id = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('.', '/', '\\', 'a', 'A', '_', '-', '%', ' ', '\0') }),
  fc.string({ minLength: 90, maxLength: 300, unit: fc.constantFrom('a', 'b', '/') }),
);

test('no id leads out of the root, or to the root itself', () => {
  fc.assert(
    fc.property(id, (runId) => {
      const name = workspaceName(runId);
      expect(name).toMatch(/^[a-zA-Z0-9_-]*(\.[0-9a-f]{32})?$/);
      expect(dirname(resolve('/root', name))).toBe('/root');
      expect(basename(name)).toBe(name);
      expect(name.length).toBeLessThanOrEqual(120);
    }),
  );
});

test('different ids never share a folder, also where upper and lower case are the same', () => {
  fc.assert(
    fc.property(id, id, (a, b) => {
      fc.pre(a !== b);
      expect(workspaceName(a).toLowerCase()).not.toBe(workspaceName(b).toLowerCase());
    }),
  );
  const alike = ['a/b', 'a_b', 'a.b', 'A_B', 'a b', '..', '.', '', 'a'.repeat(100), 'a'.repeat(101)];
  expect(new Set(alike.map((one) => workspaceName(one).toLowerCase())).size).toBe(alike.length);
});

test('an id cannot pretend to be the folder of another', () => {
  for (const victim of ['a/b', '../x', 'Ä']) {
    expect(workspaceName(workspaceName(victim))).not.toBe(workspaceName(victim));
  }
});

test('plain ids keep their name, and the same id gets the same folder', () => {
  fc.assert(fc.property(id, (runId) => workspaceName(runId) === workspaceName(runId)));
  expect(workspaceName('clerk-17_b')).toBe('clerk-17_b');
});

test('the folder exists when it is opened, twice as well', async () => {
  const root = await mkdtemp(join(tmpdir(), 'everlap-workspaces-'));
  try {
    const folder = await openWorkspaceOf(join(root, 'deep'), '../../etc');
    expect(await openWorkspaceOf(join(root, 'deep'), '../../etc')).toBe(folder);
    expect(folder.startsWith(join(root, 'deep'))).toBe(true);
    expect(existsSync(folder)).toBe(true);
  } finally {
    await rm(root, { recursive: true });
  }
});

test('a link in its place is not followed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'everlap-workspaces-'));
  try {
    await symlink('/', join(root, 'run'));
    await expect(openWorkspaceOf(root, 'run')).rejects.toThrow(/is a link now/);
    await symlink(root, `${root}-too`);
    // Where the root is one, somebody has set it up so.
    expect(await openWorkspaceOf(`${root}-too`, 'other')).toBe(join(`${root}-too`, 'other'));
  } finally {
    await rm(root, { recursive: true });
    await rm(`${root}-too`, { force: true });
  }
});

import { expect, test } from 'vitest';
import { fileTools } from '../../src/tools/index.js';

test('the five tools, with policies that fit what they do', () => {
  const policies = fileTools().map(({ name, effects, concurrency, execution, approval }) => [
    name,
    effects,
    concurrency,
    execution,
    approval,
  ]);
  expect(policies).toEqual([
    ['list_files', 'none', 'parallel', 'activity', 'never'],
    ['read_file', 'none', 'parallel', 'activity', 'never'],
    ['write_file', 'idempotent', 'serial', 'activity', 'never'],
    ['edit_file', 'idempotent', 'serial', 'activity', 'never'],
    ['search_files', 'none', 'parallel', 'activity', 'never'],
  ]);
});

test('their schemas name every argument and what it means', () => {
  for (const { name, parameters } of fileTools()) {
    const properties = parameters['properties'] as Record<string, { description?: string }>;
    for (const [field, { description }] of Object.entries(properties))
      expect(description, `${name}.${field}`).toBeTruthy();
  }
});

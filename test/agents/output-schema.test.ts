/** The form of an answer: definitions that can work, and answers as models write them. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type AgentOptions } from '../../src/agents/define-agent.js';
import { defineTool } from '../../src/agents/define-tool.js';
import { agentOutput, readOutput } from '../../src/agents/output-schema.js';
import { objectIn } from '../../src/conversation/json-answer.js';

const agent = (more: Partial<AgentOptions>) =>
  defineAgent({ name: 'judge', instructions: 'Judge.', model: 'm', ...more });

describe('the definition', () => {
  it('asks strictly where that is possible, with optional fields as nullable', () => {
    const schema = z.object({ ok: z.boolean(), note: z.string().optional() });
    expect(agentOutput('judge', schema).asked).toMatchObject({
      name: 'judge_output',
      strict: true,
      schema: { required: ['ok', 'note'], additionalProperties: false },
    });
  });

  it('asks without strictness where that is not possible', () => {
    expect(agentOutput('judge', z.object({ by: z.record(z.string(), z.number()) })).asked).not.toHaveProperty('strict');
  });

  it('has a name that every provider takes', () => {
    expect(agentOutput('x'.repeat(64), z.object({})).asked.name).toMatch(/^x+_output$/);
    expect(agentOutput('x'.repeat(64), z.object({})).asked.name).toHaveLength(64);
  });

  const plain = { name: 'finish', description: 'Ends.', input: z.object({}), execute: () => '' };
  const ends = defineTool({ ...plain, ends: true });
  it.each<[string, Partial<AgentOptions>, RegExp]>([
    ['no object', { output: z.array(z.string()) }, /Agent judge: the output must be one object/],
    ['a date', { output: z.object({ at: z.date() }) }, /Agent judge, output field "at": z\.date\(\).*\.transform\(\)/],
    ['a tool that ends the run', { output: z.object({}), tools: [ends] }, /output and the tool finish/],
    [
      'a tool of the name of the one that gives it',
      { output: z.object({}), tools: [defineTool({ ...plain, name: 'final_answer' })] },
      /its own tool final_answer collides/,
    ],
    ['a promise', { output: z.object({}), laps: { max: 2, until: { promise: 'DONE' } } }, /output and laps\.until/],
  ])('is refused with %s', (_, options, words) => {
    expect(() => agent(options)).toThrow(words);
  });

  it('goes with laps that are verified', () => {
    expect(agent({ output: z.object({}), laps: { max: 2, until: { verify: 'true' } } }).output).toBeDefined();
  });
});

describe('an answer', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    [' {"a":1}\n', { a: 1 }],
    ['```json\n{"a":1}\n```', { a: 1 }],
    ['```\n{\n"a":1}\n```\nThat is it.', { a: 1 }],
    ['Here: {"a":{"b":"}"}}. Done.', { a: { b: '}' } }],
    ['{"a":"```json\\n{}\\n```"}', { a: '```json\n{}\n```' }],
    ['```\nno\n```\n```json\n{"a":1}\n```\n{', { a: 1 }],
    [`{"a":${'['.repeat(99)}${']'.repeat(99)}}`, expect.objectContaining({ a: [expect.anything()] })],
    [`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, null],
    [`\`\`\`${'\n'.repeat(300_000)}`, null],
    ['[1]', null],
    ['"{"', null],
    ['{"a":1', null],
    ['} {', null],
    ['', null],
  ])('%.60j is read as %j', (answer, expected) => {
    expect(objectIn(answer)).toEqual(expected);
  });

  it('is parsed by the schema, without the nulls that strictness forces', async () => {
    const output = agentOutput('judge', z.object({ n: z.string().transform(Number), note: z.string().optional() }));
    expect(await readOutput(output, '{"n":"7","note":null}')).toEqual({ value: { n: 7 } });
    expect(await readOutput(output, '{"n":7}')).toEqual({
      problem: expect.stringContaining('expected string') as string,
    });
    expect(await readOutput(output, 'seven')).toEqual({ problem: 'It is no JSON object.' });
  });
});

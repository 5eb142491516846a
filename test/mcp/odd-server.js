// An MCP server over stdin and stdout that does what a server should not do. Its first argument says which oddity, the
// second where it may leave a file. Speaks the protocol by itself: the SDK would not let it be so odd.
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [mode = 'plain', file = ''] = process.argv.slice(2);
const object = { type: 'object', properties: {} };
const reads = { readOnlyHint: true };
const tool = (name, more = {}) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: object,
  annotations: reads,
  ...more,
});

const LISTS = {
  plain: [
    tool('pid'),
    tool('wait'),
    tool('hang'),
    tool('die'),
    tool('die_first'),
    tool('progress'),
    tool('odd'),
    tool('huge'),
    tool('fail'),
    tool('refuse'),
    tool('write', {
      annotations: {},
      inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    }),
    tool('put', { annotations: { idempotentHint: true } }),
  ],
  many: Array.from({ length: 200 }, (_, index) => tool(`tool_${index}`)),
  bad: [
    tool('good'),
    tool('no_schema', { inputSchema: undefined }),
    tool('list', { inputSchema: { type: 'array' } }),
    tool('nonsense', { inputSchema: { type: 'object', properties: { a: { type: 'text' } } } }),
    tool('nowhere', { inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/none' } } } }),
    tool('untyped', {
      inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', properties: { a: { type: 'string' } } },
    }),
    tool('odd hints', { annotations: { readOnlyHint: 'yes' } }),
    tool('as_task', { execution: { taskSupport: 'required' } }),
    { description: 'without a name', inputSchema: object },
    'no tool at all',
  ],
  collide: [tool('a.b'), tool('a_b')],
};
const tools = LISTS[mode] ?? LISTS.plain;
const PAGE = 50;

if (mode === 'exit') {
  console.error('There is no configuration file.');
  process.exit(3);
}
if (mode === 'stubborn') {
  // Neither the end of its stdin nor a polite signal ends it, and it has a child of its own.
  process.on('SIGTERM', () => console.error('not now'));
  const child = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
  writeFileSync(file, String(child.pid));
  setInterval(() => {}, 1000);
}
if (mode === 'chatty') console.log('Welcome to the odd server!');

let deaf = mode === 'deaf';
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined || deaf) return;
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  const text = (words, more) => answer({ content: [{ type: 'text', text: words }], ...more });
  const error = (code, message) => console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  switch (method) {
    case 'initialize':
      return answer({
        protocolVersion: params.protocolVersion,
        capabilities: mode === 'no_tools' ? {} : { tools: {} },
        serverInfo: { name: 'odd', version: '1' },
      });
    case 'ping':
      return answer({});
    case 'tools/list': {
      const from = Number(params.cursor ?? 0);
      const next = from + PAGE < tools.length ? String(from + PAGE) : undefined;
      return answer({ tools: tools.slice(from, from + PAGE), ...(next && { nextCursor: next }) });
    }
    case 'tools/call':
      break;
    default:
      return error(-32601, 'Method not found');
  }
  switch (params.name) {
    case 'pid':
      return text(String(process.pid));
    case 'wait':
      return;
    case 'hang':
      console.error('I hang.');
      deaf = true;
      return;
    case 'die':
      console.error('I am out of memory.');
      return process.exit(7);
    case 'die_first':
      if (existsSync(file)) return text('alive at last');
      writeFileSync(file, '');
      return process.exit(7);
    case 'progress': {
      const token = params._meta?.progressToken;
      const message = `half, with ${process.env.ODD_TOKEN ?? 'no token'}`;
      const progress = { progressToken: token, progress: 1, total: 2, message };
      console.log(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: progress }));
      return setTimeout(text, 300, 'whole');
    }
    case 'odd':
      return answer({ content: 'just a string', why: [1, null] });
    case 'huge':
      return text('x'.repeat(20_000_000));
    case 'too_long':
      return text('x'.repeat(70_000_000));
    case 'long_error':
      return error(-32603, `${'x'.repeat(990)}${process.env.ODD_TOKEN}${'y'.repeat(3000)}${process.env.ODD_TOKEN}`);
    case 'die_loudly':
      console.error(`${'x'.repeat(1_980)} ${process.env.ODD_TOKEN}\n${'y'.repeat(985)}`);
      return setTimeout(process.exit, 100, 7);
    case 'fail':
      return text(`It went wrong: ${process.env.ODD_TOKEN ?? 'no token'}`, { isError: true });
    case 'refuse':
      return error(-32602, 'No such thing.');
    default:
      return text(`did ${params.name} ${JSON.stringify(params.arguments)}`);
  }
});

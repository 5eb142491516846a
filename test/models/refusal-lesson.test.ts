/** What refusals teach, and what they must not. */
import { expect, it } from 'vitest';
import { readErrorBody } from '../../src/models/error-words.js';
import { learn } from '../../src/models/refusal-lesson.js';
import { DEFAULT_TRAITS, type Traits } from '../../src/models/traits.js';

const body = {
  model: 'm',
  max_tokens: 5,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.2,
  parallel_tool_calls: true,
  response_format: { type: 'json_object' },
  tools: [{ type: 'function', function: { name: 'f', strict: true } }],
  tool_choice: 'none',
  messages: [{ role: 'assistant', content: null, reasoning: 'r', tool_calls: [{ id: 'a', extra_content: {} }] }],
};
const refusal = (value: unknown) => readErrorBody(typeof value === 'string' ? value : JSON.stringify(value));
const message = (text: string) => ({ error: { message: text } });

it.each<[Partial<Traits> | null, number, unknown]>([
  [
    { maxTokens: 'max_completion_tokens', without: ['max_tokens'] },
    400,
    {
      error: {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param: 'max_tokens',
        code: 'unsupported_parameter',
      },
    },
  ],
  [
    { streamOptions: false },
    422,
    { detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] },
  ],
  [
    { streamOptions: false },
    400,
    {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]",
    },
  ],
  [{ without: ['parallel_tool_calls'] }, 400, message("Unknown parameter: 'parallel_tool_calls'.")],
  [
    { without: ['temperature'] },
    400,
    {
      error: {
        message: "Unsupported value: 'temperature' does not support 0.2 with this model.",
        param: 'temperature',
        code: 'unsupported_value',
      },
    },
  ],
  [{ toolChoiceNone: false }, 400, message('tool_choice "none" is not supported')],
  [{ strictTools: false }, 400, message("Invalid schema for function 'f': 'required' is required to be supplied")],
  [{ withoutExtra: ['reasoning'] }, 400, message("'messages.1' : property 'reasoning' is unsupported")],
  [
    { withoutExtra: ['extra_content'] },
    422,
    { detail: [{ loc: ['body', 'messages', 0, 'extra_content'], msg: 'Extra inputs are not permitted' }] },
  ],
  [
    { alternate: true, userAfterTool: false },
    500,
    message('Conversation roles must alternate user/assistant/user/assistant/...'),
  ],
  [{ userAfterTool: false }, 400, message("Unexpected role 'user' after role 'tool'")],
  [{ instructions: 'user' }, 400, message('System role not supported')],
  [
    { instructions: 'user' },
    400,
    message("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
  ],
  [{ toolCallId: 'alnum9' }, 400, message('Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.')],
  [
    { toolCallId: 'max40' },
    400,
    message("Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40"),
  ],
  [
    { emptyContent: 'text' },
    422,
    { detail: [{ loc: ['body', 'messages', 1, 'content'], msg: 'Input should be a valid string' }] },
  ],
  [
    { reasoningContent: 'required_on_calls', withoutExtra: [] },
    400,
    message('Missing `reasoning_content` field in the assistant message at message index 1'),
  ],
  // A format is a meaning, not a form.
  [null, 400, message("Unsupported parameter: 'response_format' is not supported with this model.")],
  [null, 400, message("Unknown parameter: 'top_k'.")],
  [null, 400, message('max_tokens is too large: 5')],
  [null, 401, message("Unknown parameter: 'parallel_tool_calls'.")],
  [null, 400, ''],
  [null, 400, message("This model's maximum context length is 5 tokens, unexpected")],
])('%j from %d %j', (lesson, status, value) => {
  const learned = learn(DEFAULT_TRAITS, status, refusal(value), body);
  expect(learned).toEqual(lesson && { ...DEFAULT_TRAITS, ...lesson });
});

it('gives the cap up where both names are refused', () => {
  const say = (name: string) => refusal(message(`Unknown parameter: '${name}'.`));
  const once = learn(DEFAULT_TRAITS, 400, say('max_tokens'), body);
  expect(once?.maxTokens).toBe('max_completion_tokens');
  const twice = learn(once ?? DEFAULT_TRAITS, 400, say('max_completion_tokens'), { max_completion_tokens: 5 });
  expect(twice?.without).toEqual(expect.arrayContaining(['max_tokens', 'max_completion_tokens']));
});

it('never learns the same twice', () => {
  const said = refusal(message("Unknown parameter: 'temperature'."));
  const { temperature: _, ...sent } = body;
  expect(learn({ ...DEFAULT_TRAITS, without: ['temperature'] }, 400, said, sent)).toBeNull();
});

const FORM = { ...body, response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true } } };

it.each<[Partial<Traits>, Partial<Traits> | null, string]>([
  [{}, { output: 'schema' }, "Invalid schema for response_format 'x': 'additionalProperties' is required to be false."],
  [{ output: 'schema' }, { output: 'tool' }, "Invalid schema for response_format 'x': too deep."],
  [{}, { output: 'tool' }, 'This response_format type is unavailable now'],
  [{}, { output: 'tool' }, '"tools" is incompatible with "response_format"'],
  [{}, { output: 'tool' }, "Function calling with a response mime type: 'application/json' is unsupported"],
])('a form that is refused is asked for in a simpler way: %j', (traits, lesson, words) => {
  const before = { ...DEFAULT_TRAITS, ...traits };
  const after = learn(before, 400, refusal(message(words)), FORM);
  expect(after).toEqual(lesson && { ...before, ...lesson });
});

it.each([
  'messages.1.content: Input should be a valid string',
  'Unknown content type: thinking is not supported in assistant content.',
])('thinking in the content is left out where that is refused: %s', (words) => {
  const traits: Traits = { ...DEFAULT_TRAITS, thinkingParts: true, emptyContent: 'text' };
  expect(learn(traits, 422, refusal(message(words)), body)).toEqual({ ...traits, thinkingParts: false });
  expect(learn(DEFAULT_TRAITS, 422, refusal(message(words)), body)?.thinkingParts ?? false).toBe(false);
});

const BY_TOOL = { ...body, tools: [{ type: 'function', function: { name: 'final_answer', parameters: {} } }] };

it.each<[number, string]>([
  [400, 'registry.ollama.ai/library/gemma:2b does not support tools'],
  [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
  [404, 'No endpoints found that support tool use. To learn more about provider routing, visit the docs.'],
  [400, 'deepseek-reasoner does not support Function Calling'],
  [400, 'Function calling is not enabled for models/gemma-3-27b-it'],
  [400, '`tool use` is not supported with this model'],
  [500, 'tools param requires --jinja flag'],
  [400, "This model doesn't support tool calling."],
  [422, 'The model does not yet support function calls.'],
])('a model without tools is asked for the form in words: %i %s', (status, words) => {
  expect(learn(DEFAULT_TRAITS, status, refusal(message(words)), BY_TOOL)).toMatchObject({ output: 'words' });
  const tools = [...BY_TOOL.tools, ...body.tools];
  expect(learn(DEFAULT_TRAITS, status, refusal(message(words)), { ...BY_TOOL, tools })?.output).not.toBe('words');
});

it.each<[number, string]>([
  [400, 'Failed to call a function. Please adjust your prompt.'],
  [500, 'Failed to parse tool call arguments as JSON: parse error at line 1'],
  [400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."],
  [400, "Invalid schema for function 'final_answer': too deep."],
  [400, "messages: the 'tool' role must follow a tool call"],
])('other refusals do not take the tool away: %i %s', (status, words) => {
  expect(learn(DEFAULT_TRAITS, status, refusal(message(words)), BY_TOOL)?.output).not.toBe('words');
});

it("a user's own response format is never left out", () => {
  expect(learn(DEFAULT_TRAITS, 400, refusal(message('This response_format type is unavailable now')), body)).toBeNull();
});

/**
 * What a strict provider refuses in a request's conversation: the rules that hold for all of them, over OpenAI chat
 * messages as they are on the wire. Pure; knows nothing of Everlap's own messages, nor of single providers' habits.
 */
import { isJsonObject, type JsonObject } from './json.js';

/** The pattern that providers hold function names to. https://platform.openai.com/docs/api-reference/chat/create */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** With the `u` flag a surrogate matches only where it is not half of a pair. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The kinds of content part that each role may have where its content is a list. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal', 'thinking'],
  // Images in tool messages are refused by most: they belong into a user message.
  tool: ['text'],
};

/** The calls of the last assistant message that still want a result, in the order in which the results must come. */
interface OpenCalls {
  readonly index: number;
  readonly waiting: string[];
}

/**
 * Says what is wrong with the `messages` of a chat completions request, or null if no provider would refuse them:
 * each call has exactly one result, in call order, directly after its message; ids are unique; arguments are JSON
 * objects; no assistant message is empty; the system message, if any, is first; every string is well-formed Unicode.
 * @returns one sentence that begins with the place, e.g. `messages[3]: …`.
 */
export function strictComplaint(messages: unknown): string | null {
  if (!Array.isArray(messages)) return `messages: this is ${kindOf(messages)}; it must be a list.`;
  if (messages.length === 0) return 'messages: the list is empty; there must be at least one message.';
  const seen = new Set<string>();
  const list: readonly unknown[] = messages;
  let open: OpenCalls | null = null;
  for (const [index, message] of list.entries()) {
    if (!isJsonObject(message)) return `messages[${index}]: this is ${kindOf(message)}; a message must be an object.`;
    const complaint = shapeComplaint(message, index) ?? pairingComplaint(message, open, seen);
    if (complaint !== null) return `messages[${index}]: ${complaint}`;
    const calls = callIds(message);
    if (calls.length > 0) {
      const repeated = calls.find((id, at) => seen.has(id) || calls.indexOf(id) !== at);
      if (repeated !== undefined) {
        return `messages[${index}]: the call id ${quote(repeated)} is repeated; it must be unique in the conversation.`;
      }
      for (const id of calls) seen.add(id);
      open = { index, waiting: calls };
    }
  }
  if (open === null || open.waiting.length === 0) return null;
  return `messages[${open.index}]: the call ${quote(open.waiting[0])} has no result; the conversation ends without it.`;
}

/** Takes the result off `open` where all is well. */
function pairingComplaint(message: JsonObject, open: OpenCalls | null, seen: ReadonlySet<string>): string | null {
  const next = open?.waiting[0];
  if (message['role'] !== 'tool') {
    if (next === undefined) return null;
    return `a message with role ${quote(message['role'])} stands where the result of call ${quote(next)} of messages[${open?.index}] must be.`;
  }
  const id = String(message['tool_call_id']);
  if (id === next) {
    open?.waiting.shift();
    return null;
  }
  if (open?.waiting.includes(id))
    return `the result of call ${quote(id)} is not in call order; ${quote(next)} is next.`;
  if (!seen.has(id)) return `the result is for call ${quote(id)}, which nobody made before it.`;
  return `the result of call ${quote(id)} is a second one, or does not stand directly after its call's message.`;
}

/** One message alone: role, content, calls, characters. */
function shapeComplaint(message: JsonObject, index: number): string | null {
  const { role, content } = message;
  if (typeof role !== 'string' || !Object.hasOwn(PARTS, role)) return `the role ${quote(role)} is unknown.`;
  if (index > 0 && (role === 'system' || role === 'developer')) return `a ${role} message must be the first one.`;
  if (hasLoneSurrogate(message)) return 'a string in it has a lone surrogate, which is no Unicode text.';
  const complaint = contentComplaint(role, content);
  if (complaint !== null) return complaint;
  if (role === 'assistant') return assistantComplaint(message);
  if (message['tool_calls'] !== undefined) return `a ${role} message cannot have tool_calls.`;
  const id = message['tool_call_id'];
  if (role !== 'tool') return id === undefined ? null : `a ${role} message cannot have a tool_call_id.`;
  if (typeof id !== 'string' || id === '') return `tool_call_id is ${quote(id)}; it must name the call.`;
  return null;
}

function contentComplaint(role: string, content: unknown): string | null {
  if (typeof content === 'string') return null;
  if (content === undefined || content === null) {
    return role === 'assistant' ? null : `the content of a ${role} message is ${kindOf(content)}; it must be a text.`;
  }
  if (!Array.isArray(content)) return `content is ${kindOf(content)}; it must be a text or a list of parts.`;
  const parts: readonly unknown[] = content;
  if (parts.length === 0) return 'content is an empty list.';
  for (const [at, part] of parts.entries()) {
    const complaint = partComplaint(role, part);
    if (complaint !== null) return `content[${at}] ${complaint}`;
  }
  return null;
}

function partComplaint(role: string, part: unknown): string | null {
  if (!isJsonObject(part)) return `is ${kindOf(part)}; a part must be an object.`;
  const { type } = part;
  if (typeof type !== 'string' || !PARTS[role]?.includes(type)) {
    return `has the type ${quote(type)}, which a ${role} message cannot have.`;
  }
  if ((type === 'text' || type === 'refusal') && typeof part[type] !== 'string') return `has no ${type}.`;
  if (type === 'thinking' && typeof part['thinking'] !== 'string' && !Array.isArray(part['thinking'])) {
    return 'has no thinking.';
  }
  if (type === 'image_url' || type === 'input_audio' || type === 'file') {
    if (!isJsonObject(part[type])) return `has no ${type}.`;
  }
  return null;
}

function assistantComplaint(message: JsonObject): string | null {
  const calls: unknown = message['tool_calls'];
  if (message['tool_call_id'] !== undefined) return 'an assistant message cannot have a tool_call_id.';
  if (calls === undefined || calls === null) {
    return hasWords(message['content']) ? null : 'the assistant message is empty: neither text nor calls.';
  }
  if (!Array.isArray(calls)) return `tool_calls is ${kindOf(calls)}; it must be a list.`;
  const list: readonly unknown[] = calls;
  if (list.length === 0) return 'tool_calls is an empty list; it must be left out instead.';
  for (const [at, call] of list.entries()) {
    const complaint = callComplaint(call);
    if (complaint !== null) return `tool_calls[${at}] ${complaint}`;
  }
  return null;
}

function callComplaint(call: unknown): string | null {
  if (!isJsonObject(call)) return `is ${kindOf(call)}; a call must be an object.`;
  const { id, type } = call;
  const called: unknown = call['function'];
  if (typeof id !== 'string' || id === '') return `has the id ${quote(id)}; it must be a text and not empty.`;
  if (type !== 'function') return `has the type ${quote(type)}; it must be "function".`;
  if (!isJsonObject(called)) return 'has no function.';
  const { name, arguments: json } = called;
  if (typeof name !== 'string' || !NAME.test(name)) return `names ${quote(name)}, which no function can be called.`;
  if (typeof json !== 'string') return `has arguments that are ${kindOf(json)}; they must be a JSON text.`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return `has arguments that are not JSON: ${quote(json)}.`;
  }
  if (!isJsonObject(parsed)) return `has arguments that are no JSON object: ${quote(json)}.`;
  // "\ud800" is harmless ASCII in the message and a lone surrogate for whoever parses it.
  if (hasLoneSurrogate(parsed)) return 'has arguments with a lone surrogate in them, which is no Unicode text.';
  return null;
}

/** Whitespace alone is none: Anthropic answers "text content blocks must contain non-whitespace text". */
function hasWords(content: unknown): boolean {
  if (typeof content === 'string') return content.trim() !== '';
  if (!Array.isArray(content)) return false;
  return content.some((part: unknown) => isJsonObject(part) && (hasWords(part['text']) || hasWords(part['refusal'])));
}

function callIds(message: JsonObject): string[] {
  const calls: unknown = message['tool_calls'];
  return Array.isArray(calls) ? calls.map((call: unknown) => (isJsonObject(call) ? String(call['id']) : '')) : [];
}

/** In values and keys at any depth; without recursion, and ending on cycles, since `value` may come from anybody. */
function hasLoneSurrogate(value: unknown): boolean {
  const rest: unknown[] = [value];
  const visited = new Set<object>();
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') {
      if (LONE_SURROGATE.test(next)) return true;
    } else if (typeof next === 'object' && next !== null && !visited.has(next)) {
      visited.add(next);
      for (const [key, inner] of Object.entries(next)) rest.push(key, inner);
    }
  }
  return false;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}

function quote(value: unknown): string {
  if (typeof value !== 'string') return kindOf(value);
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}

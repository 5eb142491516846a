/** The few lines of HTTP that the scripted model's server needs. Knows nothing of models. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** On every reply: nobody shall take this for a model. */
export const SCRIPTED_HEADERS: Readonly<Record<string, string>> = { 'x-everlap-scripted': '1' };

/** The whole body as text. Rejects if the client goes before it is whole. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  let body = '';
  for await (const piece of request) body += String(piece);
  return body;
}

/** undefined: the text is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', ...SCRIPTED_HEADERS });
  response.end(JSON.stringify(body));
}

/** Refuses with an error of the form that OpenAI clients read. */
export function refuse(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: 'scripted_model_refused', param: null, code: null } });
}

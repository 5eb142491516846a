/** What an MCP tool answered, as text for a model. Any answer will do: a tool that ran is not undone by an odd one. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { toText } from '../activities/to-text.js';

const RESULT = z.object({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
const PART = z.object({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  size: z.number().optional(),
  resource: z
    .object({
      uri: z.string().optional(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    })
    .optional(),
});
type Part = z.output<typeof PART>;

export interface ResultText {
  readonly text: string;
  /** The tool itself says that it failed. */
  readonly isError: boolean;
}

export function resultText(raw: unknown): ResultText {
  const result = RESULT.safeParse(raw);
  if (!result.success) return { text: toText(raw), isError: false };
  const { content = [], structuredContent, isError = false } = result.data;
  const parts = content.map(partText);
  // Servers are told to repeat it as text; it is said once.
  if (structuredContent !== undefined && !parts.some((text) => saysTheSame(text, structuredContent))) {
    parts.push(toText(structuredContent));
  }
  const text = parts.join('\n');
  if (text !== '') return { text, isError };
  return { text: isError ? 'The tool failed without a word.' : '(no result)', isError };
}

/** Text as it is; of what a model cannot read here, what it is and how large. */
function partText(raw: unknown): string {
  const part = PART.safeParse(raw);
  if (!part.success) return toText(raw);
  const { type, text, data, resource } = part.data;
  switch (type) {
    case 'text':
      return text ?? '';
    case 'resource': {
      const { blob, text: words } = resource ?? {};
      const note = noteOf('resource', resource ?? {}, blob);
      return words === undefined ? note : `${note}\n${words}`;
    }
    case 'resource_link':
      return noteOf('resource link', part.data);
    default:
      return data === undefined ? toText(raw) : noteOf(type, part.data, data);
  }
}

/** `[image: image/png, 2,345 bytes]` */
function noteOf(kind: string, { name, uri, mimeType, size }: Partial<Part>, base64?: string): string {
  const bytes = base64 === undefined ? size : Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
  const told = [name, uri, mimeType, bytes === undefined ? undefined : `${bytes.toLocaleString('en-US')} bytes`];
  return `[${kind}: ${told.filter(Boolean).join(', ')}]`;
}

function saysTheSame(text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), value);
  } catch {
    return false;
  }
}

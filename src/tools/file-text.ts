/** The bytes of a file as text, piece by piece: UTF-8 or a refusal. */
import { ToolError } from '../agents/tool-error.js';
import { shownPath } from './workspace-path.js';

/** A mark in front of the text (BOM) is dropped. */
export class FileText {
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });

  constructor(private readonly path: string) {}

  /** @throws ToolError where it is no UTF-8 text. */
  decode(bytes: Uint8Array, more = false): string {
    let text: string | undefined;
    try {
      text = this.decoder.decode(bytes, { stream: more });
    } catch {
      // Said below, together with the other sign of binary data.
    }
    if (text !== undefined && !text.includes('\0')) return text;
    throw new ToolError(
      `${shownPath(this.path)} is not a text file in UTF-8 (it is binary, or in another encoding), so it cannot be read as text.`,
    );
  }
}

/**
 * What a worker knows of runs without asking: conversations by head hash, specs by hash. A cache only: whatever is not
 * here is asked from the run itself by its `messages` query. Bounded by bytes.
 */
import { LRUCache } from 'lru-cache';
import type { AgentSpec } from '../agents/spec.js';
import type { Message } from '../conversation/message.js';

/** A conversation's text is held once, but its array of messages anew for each head; this counts both. */
interface Entry {
  readonly messages: readonly Message[];
  readonly parent: string;
}

const SPECS = 500;
/** Bytes of an array slot and of a message's object, beside its text. */
const MESSAGE_OVERHEAD = 200;

export class RunCache {
  private readonly conversations: LRUCache<string, Entry>;
  private readonly specs = new LRUCache<string, AgentSpec>({ max: SPECS });
  /** Conversations that had to be asked from their runs; for tests and metrics. */
  misses = 0;

  constructor(maxBytes: number) {
    this.conversations = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ messages }) => messages.reduce((sum, message) => sum + sizeOf(message), MESSAGE_OVERHEAD),
    });
  }

  conversation(hash: string): readonly Message[] | undefined {
    return this.conversations.get(hash)?.messages;
  }

  /**
   * Keeps a conversation under its head. `parent` stays (a retry of the same turn needs it); what came before it goes.
   */
  keepConversation(hash: string, messages: readonly Message[], parent: string): void {
    const before = this.conversations.peek(parent)?.parent;
    if (before !== undefined && before !== hash) this.conversations.delete(before);
    this.conversations.set(hash, { messages, parent });
  }

  spec(hash: string): AgentSpec | undefined {
    return this.specs.get(hash);
  }

  keepSpec(spec: AgentSpec): void {
    this.specs.set(spec.hash, spec);
  }
}

/** About the bytes of a message: two for each character. */
function sizeOf(message: Message): number {
  let chars = message.text.length;
  if (message.role === 'assistant') {
    chars += message.reasoning?.length ?? 0;
    chars += message.extra === undefined ? 0 : JSON.stringify(message.extra).length;
    for (const call of message.toolCalls ?? []) chars += call.arguments.length + 100;
  }
  return MESSAGE_OVERHEAD + 2 * chars;
}

/**
 * Which messages of a conversation a watcher has not been told yet. Each model call names the messages after the head
 * that workers know; the same ones come again with a retry, after a lost head, and in the state that continue-as-new
 * carries. Pure.
 *
 * Invariant: `seen` are the messages from `start` on as they were last sent; those before `start` have all been told.
 */
export class NewMessages<Message> {
  private start = 0;
  private seen: string[] = [];
  private isReplaced = false;

  /** The conversation is exactly `messages`, and nothing of it is new. */
  reset(messages: readonly Message[]): void {
    this.start = 0;
    this.seen = messages.map((message) => JSON.stringify(message));
    this.isReplaced = false;
  }

  /** The conversation was compacted: what is sent next is the same, said in fewer words. */
  replaced(): void {
    this.isReplaced = true;
  }

  /** Takes the messages from index `base` to the end of the conversation; returns those that are new. */
  take(base: number, messages: readonly Message[]): Message[] {
    const sent = messages.map((message) => JSON.stringify(message));
    const known = this.isReplaced ? sent.length : this.known(base, sent);
    this.start = base;
    this.seen = sent;
    this.isReplaced = false;
    return messages.slice(known);
  }

  /** How many of them, from the first on, were there before. One that differs was taken back, with all after it. */
  private known(base: number, sent: readonly string[]): number {
    const isKnown = (message: string, index: number): boolean =>
      base + index < this.start || this.seen[base + index - this.start] === message;
    const firstNew = sent.findIndex((message, index) => !isKnown(message, index));
    return firstNew < 0 ? sent.length : firstNew;
  }
}

/** Whether an answer keeps a promise: its last non-empty line is the promised text, alone. Pure. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * A promise that is only quoted does not count: within a sentence, behind `>`, in backticks, in a code block (fenced, or
 * indented by four spaces or a tab).
 */
export function keepsPromise(answer: string, promise: string): boolean {
  const lines = answer.replace(/\r\n?/g, '\n').split('\n');
  let last = lines.length - 1;
  while (last >= 0 && lines[last]?.trim() === '') last -= 1;
  const line = lines[last];
  if (line === undefined || line.trim() !== promise.trim()) return false;
  if (/^( {4,}|\t)/.test(line)) return false;
  return !isInFence(lines.slice(0, last));
}

function isInFence(before: readonly string[]): boolean {
  let open: string | null = null;
  for (const line of before) {
    const fence = FENCE.exec(line)?.[1];
    if (fence === undefined) continue;
    if (open === null) open = fence;
    else if (fence[0] === open[0] && fence.length >= open.length && line.trim() === fence) open = null;
  }
  return open !== null;
}

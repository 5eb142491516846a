/** What `state` answers of a run in which calls wait. */
import type { PendingView, RunView } from 'everlap/client';

export function waitingView(pending: readonly PendingView[], pendingCount = pending.length): RunView {
  return {
    agent: 'tester',
    task: 'Pay.',
    status: 'waiting',
    phase: 'tools',
    transition: 'started',
    lap: 1,
    turn: 1,
    model: 'scripted',
    limits: {},
    pending,
    pendingCount,
    mode: 'ask',
    queues: { steering: 0, followUps: 0 },
    usage: { input: 0, output: 0 },
    costUsd: null,
    toolCalls: 0,
    messages: 2,
    compactions: 0,
    lastError: null,
  };
}

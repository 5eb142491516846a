/**
 * The message API of a run: signals and updates change its state and nothing else, queries read it. Acting on it is the
 * loop's business. All handlers are set before the first await, so that a signal sent with the start finds them.
 *
 * A bad argument loses nothing: an update refuses it with a sentence, a signal is logged and noted in `state`.
 */
import { condition, setHandler } from '@temporalio/workflow';
import { DefinitionError } from '../agents/definition-error.js';
import { parseLimits, type Limits } from '../agents/limits.js';
import { pageOf } from '../conversation/paging.js';
import * as api from './messages.js';
import { limitsLeft } from './limits.js';
import { isRefused, parseForceFinish, parseNothing, parsePage, parseText, type Refused } from './arguments.js';
import { accepted, onBoth } from './both-doors.js';
import { listenForDecisions } from './listen-decisions.js';
import { enqueue } from './queues.js';
import type { Run } from './run.js';
import { viewOf } from './view.js';
import { statusOf } from './presentation.js';

export function listen(run: Run): void {
  for (const [queue, signal, update] of [
    ['steering', api.steerSignal, api.steerUpdate],
    ['followUps', api.followUpSignal, api.followUpUpdate],
  ] as const) {
    onBoth(run, signal, update, {
      parse: parseText,
      handle: (entry) => {
        const taken = enqueue(run.state, queue, entry);
        return isRefused(taken) ? taken : { position: taken.position, turn: enteringTurn(run) };
      },
    });
  }
  onBoth(run, api.forceFinishSignal, api.forceFinishUpdate, {
    parse: parseForceFinish,
    handle: (finish) => {
      run.state.forceFinish ??= finish;
      return standing(run);
    },
  });
  onBoth(run, api.setLimitsSignal, api.setLimitsUpdate, {
    parse: parseLimitsArgument,
    handle: (limits) => {
      run.state.limits = { ...run.state.limits, ...limits };
      return limitsLeft(run.state, Date.now());
    },
  });
  onBoth(run, api.pauseSignal, api.pauseUpdate, {
    parse: parseNothing,
    handle: async () => {
      run.state.paused = true;
      await condition(() => run.phase === 'paused' || !run.state.paused || run.ending !== null);
      return standing(run);
    },
  });
  onBoth(run, api.resumeSignal, api.resumeUpdate, {
    parse: parseNothing,
    handle: async () => {
      run.state.paused = false;
      await condition(() => run.phase !== 'paused' || run.ending !== null);
      return standing(run);
    },
  });
  listenForDecisions(run);
  setHandler(api.stateQuery, () => viewOf(run));
  setHandler(api.messagesQuery, (argument) => messagesPage(run, argument));
}

function parseLimitsArgument(argument: unknown): Limits | Refused {
  try {
    return parseLimits('setLimits', argument);
  } catch (error) {
    if (error instanceof DefinitionError) return { refused: error.message };
    throw error;
  }
}

/** Texts enter with the next request that is made: not with the one that is being answered. */
function enteringTurn(run: Run): number {
  return run.state.turns + (run.phase === 'model' ? 2 : 1);
}

function standing(run: Run): api.StandingAnswer {
  return { status: statusOf(run), phase: run.phase, lap: run.state.lap, turn: run.state.turns };
}

function messagesPage(run: Run, argument: unknown): api.MessagesPage {
  const { messages, head } = run.state.conversation;
  const { from, limit, spec } = accepted('messages', parsePage(argument));
  const { page, next } = pageOf(messages, from, limit);
  const withSpec = spec && run.specIfKnown !== null ? { spec: run.specIfKnown } : {};
  return { messages: page, from, total: messages.length, next, lap: run.state.lap, head, ...withSpec };
}

/**
 * The message API of a run: signals and updates change its state and nothing else, queries read it. Acting on it is the
 * loop's business. All handlers are set before the first await, so that a signal sent with the start finds them.
 *
 * A bad argument loses nothing: an update refuses it with a sentence, a signal is logged and noted in `state`.
 */
import { currentUpdateInfo, setHandler } from '@temporalio/workflow';
import { pageOf } from '../conversation/paging.js';
import { awaitAnswer } from './answers.js';
import * as api from './messages.js';
import {
  isRefused,
  parseForceFinish,
  parseNothing,
  parsePage,
  parseSetLimits,
  parseText,
  type Refused,
} from './arguments.js';
import { accepted, onBoth } from './both-doors.js';
import { parseReport, takeReport } from './children.js';
import { changeLimits, pause, resume, standing } from './control.js';
import { listenForDecisions } from './listen-decisions.js';
import { showWaiting } from './presentation.js';
import { enqueue } from './queues.js';
import type { QueuedText } from './run-state.js';
import type { Run } from './run.js';
import { viewOf } from './view.js';
import { isWaiting } from './waiting-calls.js';

export function listen(run: Run): void {
  onBoth(run, api.steerSignal, api.steerUpdate, {
    parse: parseText,
    handle: (entry) => {
      const taken = enqueue(run.state, 'steering', entry);
      return isRefused(taken) ? taken : { position: taken.position, turn: enteringTurn(run) };
    },
  });
  onBoth(run, api.followUpSignal, api.followUpUpdate, {
    parse: (argument) => withId(run, parseText(argument)),
    handle: (entry) => {
      const taken = enqueue(run.state, 'followUps', entry);
      return isRefused(taken) ? taken : { position: taken.position };
    },
    settle: async ({ id }, taken) => (id === undefined ? taken : awaitAnswer(run, id, taken.position)),
  });
  onBoth(run, api.forceFinishSignal, api.forceFinishUpdate, {
    parse: parseForceFinish,
    handle: (finish) => {
      run.finish(finish);
      return standing(run);
    },
  });
  onBoth(run, api.setLimitsSignal, api.setLimitsUpdate, {
    parse: parseSetLimits,
    handle: (limits) => changeLimits(run, limits),
  });
  onBoth(run, api.pauseSignal, api.pauseUpdate, { parse: parseNothing, handle: () => pause(run) });
  onBoth(run, api.resumeSignal, api.resumeUpdate, { parse: parseNothing, handle: () => resume(run) });
  listenForDecisions(run);
  setHandler(api.childReportSignal, (value: unknown) => {
    run.messagesReceived += 1;
    const report = parseReport(value);
    if (report === null)
      return run.note('The signal childReport was ignored: only runs send it, to the one that called them.');
    const waited = isWaiting(run);
    if (takeReport(run.children, report)) showWaiting(run, waited !== isWaiting(run));
  });
  setHandler(api.stateQuery, () => viewOf(run));
  setHandler(api.messagesQuery, (argument) => messagesPage(run, argument));
}

/** Where nobody has given a message of a session an id, that of its update tells it apart. */
function withId({ specIfKnown, session }: Run, entry: QueuedText | Refused): QueuedText | Refused {
  const id = specIfKnown !== null && session === undefined ? undefined : currentUpdateInfo()?.id;
  return isRefused(entry) || id === undefined ? entry : { id, ...entry };
}

/** Steering enters with the next request that is made: not with the one that is being answered. */
function enteringTurn(run: Run): number {
  return run.state.turns + (run.asking ? 2 : 1);
}

function messagesPage(run: Run, argument: unknown): api.MessagesPage {
  const { messages, head } = run.state.conversation;
  const { from, limit, spec } = accepted('messages', parsePage(argument));
  const { page, next } = pageOf(messages, from, limit);
  const withSpec = spec && run.specIfKnown !== null ? { spec: run.specIfKnown } : {};
  return { messages: page, from, total: messages.length, next, lap: run.state.lap, head, ...withSpec };
}

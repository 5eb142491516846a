/** What `run` says of a run of which nothing is heard after its start: by what the server says that is pending. */
import { expect, test } from 'vitest';
import { waitsFor, type Pending } from '../../src/cli/not-begun.js';

/** As in `temporal.api.enums.v1`. */
const [SCHEDULED, STARTED] = [1, 2];

const listing = (more: NonNullable<Pending['pendingActivities']>[number]): Pending => ({
  pendingActivities: [{ activityType: { name: 'listMcpTools' }, attempt: 1, state: STARTED, ...more }],
});

test.each<[string, Pending, RegExp]>([
  [
    'no worker',
    { pendingWorkflowTask: { state: SCHEDULED, attempt: 1 } },
    /^No worker has taken up the run yet; start/,
  ],
  ['a worker at it', { pendingWorkflowTask: { state: STARTED, attempt: 1 } }, /^A worker .* busy/],
  ['one that fails', { pendingWorkflowTask: { state: SCHEDULED, attempt: 3 } }, /^A worker .* fails .*attempt 3/],
  ['tools listed', listing({}), /^The run waits for the list of its MCP servers’ tools \(attempt 1\)\.$/],
  [
    'listed again',
    listing({ state: SCHEDULED, attempt: 2, lastFailure: { message: 'Not\nthere.' } }),
    /\(attempt 2\)\. The last attempt failed: Not there\.$/,
  ],
  ['nobody lists', listing({ state: SCHEDULED }), /tools, which no worker has taken up yet; start/],
  ['another activity', listing({ activityType: { name: 'tool.x' } }), /^The run waits for the activity tool\.x /],
  ['nothing', {}, /^A worker has taken up the run; nothing/],
])('%s', (_, pending, expected) => {
  expect(waitsFor(pending)).toMatch(expected);
});

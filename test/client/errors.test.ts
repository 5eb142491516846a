import {
  QueryNotRegisteredError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { toRunError } from '../../src/client/errors.js';

const grpc = (code: number, details: string): ServiceError =>
  new ServiceError('Workflow Update failed', {
    cause: Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} }),
  });
const refused = (type: string): WorkflowUpdateFailedError =>
  new WorkflowUpdateFailedError(
    'Workflow Update failed',
    ApplicationFailure.nonRetryable('steer was refused: no.', type),
  );

describe('what Temporal says becomes', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['too late', refused('RunEnded'), 'RunEndedError', /^steer was refused: no\.$/],
    ['a bad argument', refused('BadArgument'), 'RunArgumentError', /^steer was refused: no\.$/],
    [
      'no such run',
      new WorkflowNotFoundError('workflow not found for ID: r', 'r', undefined),
      'RunNotFoundError',
      /no run r in/,
    ],
    [
      'a closed run',
      new WorkflowNotFoundError('workflow execution already completed', 'r', undefined),
      'RunEndedError',
      /r has ended; steer came too late/,
    ],
    [
      'too many updates at once',
      grpc(8, 'limit on number of concurrent in-flight updates has been reached (10)'),
      'RunBusyError',
      /r cannot take steer .*\(10\) Wait, or send it as a signal\./,
    ],
    [
      'too many updates in all',
      grpc(9, 'The limit on the total number of distinct updates in this workflow has been reached (2000).'),
      'RunBusyError',
      /\(2000\)\. Wait, or send/,
    ],
    [
      'a refused query',
      new QueryNotRegisteredError('steer was refused: no.', 3),
      'RunArgumentError',
      /^steer was refused/,
    ],
  ])('%s', (_, error, name, words) => {
    expect(toRunError(error, 'r', 'steer')).toMatchObject({ name, cause: error, runId: 'r' });
    expect((toRunError(error, 'r', 'steer') as Error).message).toMatch(words);
  });

  test('itself, where it is none of these', () => {
    for (const error of [
      new Error('x'),
      grpc(14, 'no server there'),
      refused('Other'),
      new QueryNotRegisteredError('no handler for steer', 3),
      new WorkflowUpdateFailedError('x', new Error('y')),
    ]) {
      expect(toRunError(error, 'r', 'steer')).toBe(error);
    }
  });
});

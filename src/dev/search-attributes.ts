// The search attributes that runs are found by in the Temporal UI: which they are, adding them, asking for them.
// Works on a client's Connection and on the worker's own (`Context.current().client.connection`).
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError, type ConnectionLike } from '@temporalio/client';

/** Name to type, both as the `temporal` CLI spells them. */
export const EVERLAP_SEARCH_ATTRIBUTES = {
  EverlapAgent: 'Keyword',
  EverlapStatus: 'Keyword',
  EverlapReason: 'Keyword',
  EverlapTurns: 'Int',
  EverlapCostUsd: 'Double',
} as const;

type Name = keyof typeof EVERLAP_SEARCH_ATTRIBUTES;
const NAMES = Object.keys(EVERLAP_SEARCH_ATTRIBUTES) as Name[];

/** `temporal.api.enums.v1.IndexedValueType`; the enum itself is in a package that we do not depend on. */
const WIRE_TYPE = { Keyword: 2, Int: 3, Double: 4 } as const;

/** Codes of gRPC (grpc/grpc, `doc/statuscodes.md`). */
const INVALID_ARGUMENT = 3;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

const REQUEST_MS = 10_000;
const VISIBLE_WITHIN_MS = 90_000; // frontends refresh their copy once a minute

/** Finds nothing, and is refused where it names an attribute that is not there or has another type. */
const PROBE = `WorkflowId = 'everlap-search-attribute-probe' AND EverlapAgent = 'x' AND EverlapStatus = 'x' \
AND EverlapReason = 'x' AND EverlapTurns = 1 AND EverlapCostUsd = 1.5`;

/**
 * Whether runs in this namespace can carry and be found by all of Everlap's search attributes. It asks with a query,
 * not the operator service: that needs no rights beyond the namespace's own, so it works on Temporal Cloud too.
 * One request, counted against the namespace's visibility limit: keep the answer, do not ask for each run.
 * @throws what the server says where the namespace is unknown or the server cannot be reached within 10 seconds.
 */
export async function hasSearchAttributes(connection: ConnectionLike, namespace: string): Promise<boolean> {
  try {
    await soon(connection, () => connection.workflowService.countWorkflowExecutions({ namespace, query: PROBE }));
    return true;
  } catch (error) {
    if (codeOf(error) === INVALID_ARGUMENT) return false;
    throw error;
  }
}

/**
 * Adds those that are missing and waits until the namespace can use them. Safe to call again, also by two at once.
 * @returns the names that were added by this call.
 * @throws a sentence where one exists with another type, or where the server does not let a client add any.
 */
export async function registerSearchAttributes(connection: ConnectionLike, namespace: string): Promise<string[]> {
  if (await hasSearchAttributes(connection, namespace)) return [];
  const added: Name[] = await addMissing(connection, namespace);
  const giveUpAt = Date.now() + VISIBLE_WITHIN_MS;
  while (!(await hasSearchAttributes(connection, namespace))) {
    if (Date.now() > giveUpAt) {
      throw new Error(
        `The search attributes were added to namespace "${namespace}", but after ${VISIBLE_WITHIN_MS / 1000} s it does ` +
          'not know them yet. Runs work without them; ask again in a minute.',
      );
    }
    await sleep(200);
  }
  return added;
}

async function addMissing(connection: ConnectionLike, namespace: string): Promise<Name[]> {
  const { operatorService } = connection;
  try {
    const { customAttributes } = await soon(connection, () => operatorService.listSearchAttributes({ namespace }));
    for (const name of NAMES) {
      const there = customAttributes[name];
      if (there != null && there !== WIRE_TYPE[EVERLAP_SEARCH_ATTRIBUTES[name]]) {
        throw new Error(
          `Namespace "${namespace}" has a search attribute ${name} that is not of type ` +
            `${EVERLAP_SEARCH_ATTRIBUTES[name]}. Remove or rename it (temporal operator search-attribute), then try again.`,
        );
      }
    }
    const missing = NAMES.filter((name) => customAttributes[name] == null);
    for (const name of missing) {
      const searchAttributes = { [name]: WIRE_TYPE[EVERLAP_SEARCH_ATTRIBUTES[name]] };
      await soon(connection, () => operatorService.addSearchAttributes({ namespace, searchAttributes })).catch(
        (error: unknown) => {
          if (codeOf(error) !== ALREADY_EXISTS) throw error; // someone else's setup was quicker
        },
      );
    }
    return missing;
  } catch (error) {
    const code = codeOf(error);
    if (code !== PERMISSION_DENIED && code !== UNIMPLEMENTED) throw error;
    const list = NAMES.map((name) => `${name} (${EVERLAP_SEARCH_ATTRIBUTES[name]})`).join(', ');
    throw new Error(
      `This server does not let a client add search attributes to namespace "${namespace}" (Temporal Cloud does not). ` +
        `Add them in its own UI or tool: ${list}. Without them runs work the same, only the filters are missing.`,
      { cause: error },
    );
  }
}

function soon<T>(connection: ConnectionLike, request: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + REQUEST_MS, request);
}

const codeOf = (error: unknown): number | undefined => (isGrpcServiceError(error) ? error.code : undefined);

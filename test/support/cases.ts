/** Many short runs on one rig: each case is a task of its own, with a script and settings of its own. */
import type { AgentResult, Message, RunSettings } from 'everlap';
import type { RunHandle } from 'everlap/client';
import type { RecordedRequest, Script } from 'everlap/testing';
import { expect } from 'vitest';
import type { Rig } from './rig.js';

export interface Case {
  readonly script: Script;
  readonly settings?: RunSettings;
}

export interface Played {
  readonly run: RunHandle;
  readonly result: AgentResult;
  readonly requests: readonly RecordedRequest[];
  readonly messages: readonly Message[];
}

/** The scripts of cases, for `startRig({ byTask })`. A case's name is its task: no name may contain another. */
export function scriptsOf(cases: Readonly<Record<string, Case>>): Record<string, Script> {
  return Object.fromEntries(Object.entries(cases).map(([task, { script }]) => [task, script]));
}

/** Plays one case to its end. */
export async function play(rig: Rig, task: string, { settings }: Pick<Case, 'settings'> = {}): Promise<Played> {
  const run = await rig.start({ task, ...(settings && { settings }) });
  const result = await run.result();
  const requests = rig.model.requests.filter((request) => request.task === task);
  return { run, result, requests, messages: await run.messages() };
}

/** Some text with this in it, for `toMatchObject`; vitest's own is of no type. */
export function containing(part: string): unknown {
  return expect.stringContaining(part);
}

/** Where a run can be looked at in the Temporal UI, as far as that is known. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Target } from './connect.js';

/** What `everlap dev` leaves for the other commands in this folder, as long as it runs. */
const NOTE = join('.everlap', 'dev.json');
const DEV = z.object({ address: z.string(), uiUrl: z.string() });

export async function leaveDevNote(dev: z.infer<typeof DEV>): Promise<void> {
  await mkdir('.everlap', { recursive: true });
  await writeFile(NOTE, `${JSON.stringify(dev)}\n`);
}

export async function removeDevNote(): Promise<void> {
  await rm(NOTE, { force: true });
}

/** Base address: of Temporal Cloud, of `everlap dev` in this folder, or by EVERLAP_UI; else undefined. */
export async function uiOf({ address }: Target): Promise<string | undefined> {
  if (process.env['EVERLAP_UI']) return process.env['EVERLAP_UI'];
  if (/\.tmprl\.cloud(:\d+)?$|\.api\.temporal\.io(:\d+)?$/.test(address)) return 'https://cloud.temporal.io';
  const noted = await readFile(NOTE, 'utf8').then(parseNote, () => undefined);
  return noted !== undefined && port(noted.address) === port(address) && isLocal(address) ? noted.uiUrl : undefined;
}

export function runUrl(ui: string, namespace: string, runId: string): string {
  const path = ['namespaces', namespace, 'workflows', runId].map(encodeURIComponent).join('/');
  return `${ui.replace(/\/+$/, '')}/${path}`;
}

function parseNote(text: string): z.infer<typeof DEV> | undefined {
  try {
    return DEV.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // half a file: `everlap dev` writes it just now
  }
}

function port(address: string): string {
  return /:(\d+)$/.exec(address)?.[1] ?? '7233';
}

function isLocal(address: string): boolean {
  return /^(localhost|127\.|\[?::1)/.test(address);
}

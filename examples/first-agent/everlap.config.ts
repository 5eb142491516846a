// A first agent: one tool of its own, and the built-in file tools in a folder for each run.
// Copy this file into a folder of yours, `npm install everlap zod`, set OPENAI_API_KEY, then `npx everlap dev`, and
// in another terminal: npx everlap run helper "How many days is it until New Year? Write it into days.md."
import { defineAgent, defineConfig, defineTool } from 'everlap';
import { fileTools } from 'everlap/tools';
import { z } from 'zod';

const currentTime = defineTool({
  name: 'current_time',
  description: 'The date and time right now, in a time zone such as Europe/Berlin.',
  input: z.object({ timeZone: z.string() }),
  effects: 'none',
  execute: ({ timeZone }) => new Date().toLocaleString('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'long' }),
});

export const helper = defineAgent({
  name: 'helper',
  instructions: 'You help with what you are asked. Look things up with your tools instead of guessing.',
  model: process.env['EVERLAP_MODEL'] ?? 'gpt-5-mini',
  tools: [currentTime, ...fileTools()],
  limits: { turns: 30, duration: '30 minutes' },
});

export default defineConfig({ agents: [helper] });

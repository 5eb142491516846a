/**
 * Two loops written by hand that do the same work as Everlap with as little code as can be. Bundled for the sandbox, so
 * nothing of Node here.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { BenchActivities, OwnMessage } from './own-activities.js';

interface Call {
  id: string;
  name: string;
  arguments: string;
}
interface Message {
  role: string;
  text: string;
  toolCalls?: Call[];
}
interface Activities {
  callModel(input: object): Promise<{ message: Message; head: string }>;
  'tool.read_page'(input: object): Promise<{ text: string }>;
  describeAgent(input: object): Promise<{ hash: string; model: { name: string } }>;
}

const activities = proxyActivities<Activities>({ startToCloseTimeout: '10 minutes', heartbeatTimeout: '10 seconds' });

/** The same activities as Everlap's, each message sent once; no limits, no steering, no ends but the answer. */
export async function bareLoop(input: { agent: string; task: string }): Promise<string> {
  const spec = await activities.describeAgent(input);
  let base = { hash: '', length: 0 };
  let delta: object[] = [{ role: 'user', kind: 'task', text: input.task }];
  for (let turn = 1; ; turn += 1) {
    const { message, head } = await activities.callModel({
      spec: spec.hash,
      lap: 1,
      turn,
      base,
      delta,
      model: spec.model.name,
    });
    base = { hash: head, length: base.length + delta.length + 1 };
    if (message.toolCalls === undefined) return message.text;
    delta = await Promise.all(
      message.toolCalls.map(async (call) => {
        const { text } = await activities['tool.read_page']({
          args: JSON.parse(call.arguments),
          call: { runId: 'bare', lap: 1, turn, callId: call.id, idempotencyKey: `bare/${call.id}` },
        });
        return { role: 'tool', callId: call.id, name: call.name, text };
      }),
    );
  }
}

const own = proxyActivities<BenchActivities>({ startToCloseTimeout: '10 minutes' });

/** What a first version by hand looks like: the workflow sends the whole conversation into each model call. */
export async function wholeConversationLoop(input: { task: string }): Promise<string> {
  const messages: OwnMessage[] = [{ role: 'user', content: input.task }];
  for (;;) {
    const answer = await own.ownModelCall(messages);
    messages.push(answer);
    if (!answer.tool_calls) return answer.content ?? '';
    const results = await Promise.all(
      answer.tool_calls.map(async ({ id, function: { arguments: args } }): Promise<OwnMessage> => {
        return { role: 'tool', tool_call_id: id, content: await own.ownTool(JSON.parse(args)) };
      }),
    );
    messages.push(...results);
  }
}

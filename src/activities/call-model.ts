/**
 * The activity `callModel`: the conversation put together, one streaming request per attempt, and the answer as the run
 * keeps it. Knows no provider's format: that is behind `ModelProvider`.
 */
import { Context } from '@temporalio/activity';
import type { CallModelInput, CallModelOutput } from '../agents/wire.js';
import type { AgentSpec } from '../agents/spec.js';
import type { AssistantMessage, Message, Usage } from '../conversation/message.js';
import { estimateMessages, estimateTokens } from '../conversation/estimate.js';
import type { ModelAnswer } from '../models/provider.js';
import { askProvider, toFailure, type ModelDependencies } from './ask-provider.js';
import { extendHash } from './conversation-hash.js';
import { startHeartbeat, type Heartbeat } from './heartbeat.js';
import { loadRun } from './load-run.js';
import { streamProgress } from './stream-progress.js';

export async function callModel(dependencies: ModelDependencies, input: CallModelInput): Promise<CallModelOutput> {
  const { attempt } = Context.current().info;
  const heartbeat = startHeartbeat({ turn: input.turn, attempt, length: 0, text: '' });
  try {
    const { spec, messages, hash } = await loadRun(dependencies.cache, input);
    const answer = await ask(dependencies, { input, spec, messages, heartbeat, attempt });
    const message: AssistantMessage = {
      ...answer.message,
      ...(input.model !== spec.model.name && { model: input.model }),
    };
    const head = extendHash(hash, [message]);
    dependencies.cache.keepConversation(head, [...messages, message], input.base.hash);
    return {
      message,
      usage: answer.usage ?? estimatedUsage(spec, messages, message),
      head,
      ...(answer.finish === 'length' && { finish: 'length' as const }),
    };
  } finally {
    heartbeat.stop();
  }
}

interface Asking {
  readonly input: CallModelInput;
  readonly spec: AgentSpec;
  readonly messages: readonly Message[];
  readonly heartbeat: Heartbeat;
  readonly attempt: number;
}

async function ask(
  dependencies: ModelDependencies,
  { input, spec, messages, heartbeat, attempt }: Asking,
): Promise<ModelAnswer> {
  try {
    return await askProvider(dependencies, spec.model, {
      model: input.model,
      instructions: spec.instructions,
      messages,
      tools: spec.tools,
      toolChoice: input.tools === 'none' ? 'none' : 'auto',
      ...(input.maxOutputTokens !== undefined && { maxOutputTokens: input.maxOutputTokens }),
      ...(spec.model.parameters && { parameters: spec.model.parameters }),
      // Without tools, it sums up for a person.
      ...(spec.output && input.tools !== 'none' && { output: spec.output }),
      onEvent: streamProgress({ turn: input.turn, attempt }, heartbeat),
    });
  } catch (error) {
    throw toFailure(error, dependencies, input.deadline);
  }
}

function estimatedUsage(spec: AgentSpec, messages: readonly Message[], answer: AssistantMessage): Usage {
  const tools = estimateTokens(JSON.stringify(spec.tools));
  return {
    input: estimateTokens(spec.instructions) + tools + estimateMessages(messages),
    output: estimateMessages([answer]),
    estimated: true,
  };
}

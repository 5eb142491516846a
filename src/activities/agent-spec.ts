/** From an agent's options to its spec: defaults filled in, durations in milliseconds, prices and window looked up. */
import { modelsOf, unpricedModel, type Rates } from '../agents/cost.js';
import type {
  AgentDefinition,
  AgentOptions,
  ContextOptions,
  LapsOptions,
  ModelOptions,
} from '../agents/define-agent.js';
import { DefinitionError } from '../agents/definition-error.js';
import type { AgentOfTool, ToolDefinition } from '../agents/define-tool.js';
import { toMs, type Duration } from '../agents/duration.js';
import { HAND_OFF } from '../agents/hand-off.js';
import { DEFAULT_TURNS, parseLimits } from '../agents/limits.js';
import { sessionSpec } from '../agents/session.js';
import type {
  AgentSpec,
  AgentToolSpec,
  ContextSpec,
  LapsSpec,
  ModelSpec,
  PriceSpec,
  ToolSpec,
} from '../agents/spec.js';
import { DEFAULT_MAX_CHARS, READ_RESULT_NAME } from '../agents/wire.js';
import { contextWindowOf } from '../models/context-window.js';
import { priceOf } from '../models/prices.js';
import { READ_RESULT } from '../tools/read-result.js';
import { digest } from './conversation-hash.js';

const MINUTE = 60_000;

export interface Surroundings {
  /** Goes before the built-in list of prices. */
  readonly prices: Readonly<Record<string, PriceSpec>>;
  readonly searchAttributes: boolean;
  readonly storesLargePayloads: boolean;
}

/**
 * @param form the agent whose form the answer is to have.
 * @throws DefinitionError for a `usd` limit on a model without a known price: it could never be kept.
 */
export function specOf(
  agent: AgentDefinition,
  options: AgentOptions,
  { prices, ...surroundings }: Surroundings,
  mcpTools: readonly ToolSpec[] = [],
  form: AgentDefinition = agent,
): AgentSpec {
  const model = modelSpec(options.model);
  const fallbackModels = options.fallbackModels ?? [];
  const where = `Agent ${agent.name}`;
  const session = options.session && sessionSpec(where, options.session);
  // The turns that nobody has set are for one message of a session, which as a whole may go on for weeks.
  const limits = { ...(!session && { turns: DEFAULT_TURNS }), ...parseLimits(where, options.limits ?? {}) };
  const context = contextSpec(model.name, options.context);
  const known = pricesOf(modelsOf({ model, fallbackModels, context }), prices);
  const unpriced = unpricedModel({ model, fallbackModels, context, prices: known });
  if ((limits.usd ?? session?.limits.usd) !== undefined && unpriced !== undefined) {
    throw new DefinitionError(
      `${where}: limits.usd cannot be kept, since the price of ${unpriced} is not known. ` +
        'Give its price in the config (prices), or limit tokens instead.',
    );
  }
  const spec = {
    name: agent.name,
    instructions: options.instructions,
    model,
    fallbackModels,
    tools: [...[...agent.tools, ...builtInTools(agent, options, mcpTools)].map(toolSpec), ...mcpTools],
    limits,
    onLimit: options.onLimit ?? 'stop',
    mode: options.mode ?? 'ask',
    stuckWindow: options.stuckWindow ?? 3,
    context,
    toolResult: { maxChars: options.toolResult?.maxChars ?? DEFAULT_MAX_CHARS },
    heartbeatTimeoutMs: ms(options.heartbeatTimeout, 10_000),
    prices: known,
    ...(options.laps && { laps: lapsSpec(options.laps) }),
    ...(session && { session: { ...session, limits: { turns: DEFAULT_TURNS, ...session.limits } } }),
    ...(form.output && { output: { agent: form.name, ...form.output.asked } }),
    ...surroundings,
  };
  return { hash: digest(JSON.stringify(spec)), ...spec };
}

function contextSpec(model: string, options: ContextOptions = {}): ContextSpec {
  const { window = contextWindowOf(model), compactAt = 0.8, keepTurns = 4, compactModel } = options;
  return { window, compactAt, keepTurns, ...(compactModel && { compactModel }) };
}

function builtInTools(
  { tools }: AgentDefinition,
  { laps, toolResult }: AgentOptions,
  mcpTools: readonly ToolSpec[],
): ToolDefinition[] {
  const mayBeLong = [...tools, ...mcpTools].some(({ execution }) => execution === 'activity' || execution === 'local');
  const hasOwn = tools.some(({ name }) => name === READ_RESULT_NAME);
  return [
    ...(laps?.handoff === 'note' ? [HAND_OFF] : []),
    ...(mayBeLong && !hasOwn && toolResult?.readResult !== false ? [READ_RESULT] : []),
  ];
}

function modelSpec(model: string | ModelOptions): ModelSpec {
  const options: ModelOptions = typeof model === 'string' ? { name: model } : model;
  return {
    name: options.name,
    attempts: options.attempts ?? 5,
    timeoutMs: ms(options.timeout, 10 * MINUTE),
    firstEventTimeoutMs: ms(options.firstEventTimeout, 2 * MINUTE),
    idleTimeoutMs: ms(options.idleTimeout, MINUTE),
    ...(options.maxOutputTokens && { maxOutputTokens: options.maxOutputTokens }),
    ...(options.parameters && { parameters: options.parameters }),
  };
}

function toolSpec(tool: ToolDefinition): ToolSpec {
  const { name, description, strictParameters, effects, concurrency, approval, timeoutMs, execution, attempts } = tool;
  return {
    name,
    description,
    parameters: strictParameters ?? tool.parameters,
    ...(strictParameters && { strict: true as const }),
    effects,
    concurrency,
    approval: typeof approval === 'function' ? 'ask' : approval,
    timeoutMs,
    execution,
    attempts,
    ...(tool.reconcile && { reconciles: true as const }),
    ...(tool.approvalTimeoutMs !== undefined && { approvalTimeoutMs: tool.approvalTimeoutMs }),
    ...(tool.defaultAnswer !== undefined && { defaultAnswer: tool.defaultAnswer }),
    ...(tool.ends && { ends: true as const }),
    ...(tool.agent && { agent: agentToolSpec(tool.name, tool.agent) }),
  };
}

function agentToolSpec(tool: string, { get, limits, maxDepth }: AgentOfTool): AgentToolSpec {
  const { name, options } = get();
  return {
    name,
    ...(maxDepth !== undefined && { maxDepth, limits: parseLimits(`Tool ${tool}`, { ...options.limits, ...limits }) }),
  };
}

function lapsSpec(laps: LapsOptions): LapsSpec {
  const { max, until, handoff = 'workspace', maxFailed = 2, spec = 'pinned' } = laps;
  return { max, until, handoff, maxFailed, spec };
}

function pricesOf(models: readonly string[], own: Readonly<Record<string, PriceSpec>>): Record<string, PriceSpec> {
  const known: Record<string, PriceSpec> = {};
  for (const model of models) {
    const price = priceOf(model, own);
    if (price === undefined) continue;
    const { long } = price;
    known[model] = { ...ratesOf(price), ...(long && { long: { over: long.over, ...ratesOf(long) } }) };
  }
  return known;
}

/** Without what the price list says besides. */
function ratesOf({ input, output, cachedInput }: Rates): Rates {
  return { input, output, ...(cachedInput !== undefined && { cachedInput }) };
}

function ms(duration: Duration | undefined, fallback: number): number {
  return duration === undefined ? fallback : toMs('A duration', duration);
}

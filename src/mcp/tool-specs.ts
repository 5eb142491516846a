/**
 * From the list of a server's tools to the tools of a run: names, policies by annotations, schemas checked. Knows no
 * connection. What one odd tool of a server has wrong costs that tool only.
 */
import { z } from 'zod';
import { checkOf } from '../activities/tool-arguments.js';
import { DefinitionError } from '../agents/definition-error.js';
import { toMs } from '../agents/duration.js';
import { plainParameters } from '../agents/json-schema.js';
import type { ToolSpec } from '../agents/spec.js';
import { cutText, headAndTail } from '../conversation/cut-text.js';
import type { McpServerDefinition, McpToolPolicy } from './define-server.js';
import { mcpToolName, nameCounts, type NameCounts } from './tool-name.js';

const TOOL = z.object({
  name: z.string().min(1),
  description: z.string().optional(),
  title: z.string().optional(),
  inputSchema: z.record(z.string(), z.json()),
  annotations: z
    .object({
      title: z.string().optional(),
      readOnlyHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
    })
    .optional()
    .catch(undefined),
  execution: z.object({ taskSupport: z.string().optional() }).optional().catch(undefined),
});
type Listed = z.output<typeof TOOL>;

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_ATTEMPTS = 3;
const MAX_DESCRIPTION = 8_000;
const MAX_WORDS = 2_000;
/** Compiling a schema takes the worker's time. */
const MAX_SCHEMA = 100_000;
/** Characters of all MCP tools of an agent: they are pinned by the run, and a payload has a limit. */
const MAX_CHARS = 400_000;

export interface ListedTools {
  readonly tools: readonly ToolSpec[];
  /** A sentence for each tool left out, and for each name in the options that the server does not have. */
  readonly problems: readonly string[];
}

/** A server's tools as its definition wants them. */
export function mcpToolSpecs(server: McpServerDefinition, listed: readonly unknown[]): ListedTools {
  const { name, options } = server;
  const tools: ToolSpec[] = [];
  const problems: string[] = [];
  const seen = new Set<string>();
  const names = nameCounts(listed.flatMap((raw) => TOOL.safeParse(raw).data?.name ?? []));
  for (const raw of listed) {
    const tool = TOOL.safeParse(raw);
    const shownName = cutText(nameOf(raw), 200);
    const toolName = tool.success ? tool.data.name : shownName;
    const isSecond = seen.has(toolName);
    seen.add(toolName);
    if (options.exclude?.includes(toolName) || options.include?.includes(toolName) === false) continue;
    const leftOut = (why: string): unknown =>
      problems.push(`MCP server ${name}: its tool ${shownName} is left out: ${why}`);
    if (!tool.success) leftOut(`it is described in a way that is not the protocol's.\n${z.prettifyError(tool.error)}`);
    else if (isSecond) leftOut('the server has it twice; the first is taken.');
    else if (tool.data.execution?.taskSupport === 'required') leftOut('it can only be called as a task of its own.');
    else {
      try {
        tools.push(specOf(server, tool.data, names));
      } catch (error) {
        if (!(error instanceof DefinitionError)) throw error;
        leftOut(cutText(error.message, MAX_WORDS));
      }
    }
  }
  const wanted = [...(options.include ?? []), ...(options.exclude ?? []), ...Object.keys(options.overrides ?? {})];
  for (const missing of new Set(wanted.filter((one) => !seen.has(one)))) {
    problems.push(
      `MCP server ${name} has no tool ${missing}, which its definition names (include, exclude, overrides).`,
    );
  }
  return { tools, problems };
}

function nameOf(raw: unknown): string {
  const named = z.object({ name: z.string() }).safeParse(raw);
  return named.success ? JSON.stringify(named.data.name) : 'without a name';
}

function specOf(server: McpServerDefinition, tool: Listed, names: NameCounts): ToolSpec {
  const name = mcpToolName(server.name, tool.name, names);
  const { $schema: _, ...schema } = tool.inputSchema;
  const chars = JSON.stringify(schema).length;
  if (chars > MAX_SCHEMA) throw new DefinitionError(`its schema has ${chars} characters; ${MAX_SCHEMA} are the most.`);
  const parameters = plainParameters(name, { type: 'object', ...schema });
  checkOf({ name, parameters });
  const { readOnlyHint = false, idempotentHint = false, title } = tool.annotations ?? {};
  const policy = policyOf(server, tool.name);
  const effects = policy.effects ?? (readOnlyHint ? 'none' : idempotentHint ? 'idempotent' : 'once');
  const approval = policy.approval ?? (readOnlyHint ? 'never' : 'always');
  return {
    name,
    description: headAndTail(tool.description || tool.title || title || tool.name, MAX_DESCRIPTION),
    parameters,
    effects,
    concurrency: policy.concurrency ?? (effects === 'none' ? 'parallel' : 'serial'),
    approval: typeof approval === 'function' ? 'ask' : approval,
    timeoutMs: policy.timeout === undefined ? DEFAULT_TIMEOUT_MS : toMs('timeout', policy.timeout),
    execution: 'activity',
    attempts: policy.attempts ?? DEFAULT_ATTEMPTS,
    ...(policy.approvalTimeout !== undefined && {
      approvalTimeoutMs: toMs('approvalTimeout', policy.approvalTimeout),
    }),
    mcp: { server: server.name, tool: tool.name },
  };
}

/** The server's policy with the tool's own over it, field by field. */
export function policyOf({ options }: McpServerDefinition, tool: string): McpToolPolicy {
  const { policy, overrides = {} } = options;
  return { ...policy, ...(Object.hasOwn(overrides, tool) && overrides[tool]) };
}

/**
 * All tools of a run fit together.
 * @throws DefinitionError where two have one name, or the MCP tools are too many to be pinned.
 */
export function checkTogether(agent: string, own: readonly Pick<ToolSpec, 'name'>[], mcp: readonly ToolSpec[]): void {
  const origins = new Map(own.map(({ name }) => [name, `the agent's own tool ${name}`]));
  for (const { name, mcp: origin } of mcp) {
    const from = `${JSON.stringify(origin?.tool)} of the MCP server ${origin?.server}`;
    const other = origins.get(name);
    if (other !== undefined) {
      throw new DefinitionError(
        `Agent ${agent}: two tools would have the name ${name}: ${other} and ${from}. Leave one out with exclude, or rename the server.`,
      );
    }
    origins.set(name, from);
  }
  const chars = JSON.stringify(mcp).length;
  if (chars > MAX_CHARS) {
    throw new DefinitionError(
      `Agent ${agent}: the ${mcp.length} tools of its MCP servers take ${chars} characters; at most ${MAX_CHARS} can be given to a model. Choose with include.`,
    );
  }
}

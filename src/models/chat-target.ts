/** Which server is asked, and with which key: from options and environment, at the time of the request. Pure. */
import { type Failure, type FailureContext, failureOf } from './failure-class.js';

export interface ChatTargetOptions {
  /** Default: the environment variable {@link apiKeyEnv}. */
  readonly apiKey?: string;
  /** The variable that holds the key. Default `OPENAI_API_KEY`. */
  readonly apiKeyEnv?: string;
  /** Default `OPENAI_BASE_URL`, else OpenAI's own. */
  readonly baseUrl?: string;
  /** Sent with every request; `authorization` or `api-key` among them replaces the key. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly organization?: string;
}

export interface ChatTarget {
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly organization?: string;
  readonly context: Omit<FailureContext, 'nowMs'>;
}

export const OPENAI_BASE_URL = 'https://api.openai.com/v1';

export function chatTarget(
  options: ChatTargetOptions,
  env: Readonly<Record<string, string | undefined>>,
  model: string,
): ChatTarget | Failure {
  const baseUrl = filled(options.baseUrl) ?? filled(env['OPENAI_BASE_URL']) ?? OPENAI_BASE_URL;
  const variable = options.apiKeyEnv ?? 'OPENAI_API_KEY';
  const apiKey = filled(options.apiKey) ?? filled(env[variable]);
  const headers = options.headers ?? {};
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const context = {
    model,
    server: url?.host ?? baseUrl,
    keySource: filled(options.apiKey) ? "the provider's options" : variable,
    secrets: [apiKey ?? '', ...Object.values(headers).filter((value) => value.length >= 8), url?.password ?? ''],
  };
  const at = { ...context, nowMs: 0 };
  if (!url || !/^https?:$/.test(url.protocol)) {
    return failureOf('bad_request', 'cannot be asked: the base URL must begin with http:// or https://.', at);
  }
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    const happened = `cannot be asked: the API key in ${context.keySource} has characters that no HTTP header can carry.`;
    return failureOf('auth', happened, at);
  }
  const hasOwnKey = Object.keys(headers).some((name) => /^(authorization|api-key)$/i.test(name));
  if (apiKey === undefined && !hasOwnKey && url.hostname === new URL(OPENAI_BASE_URL).hostname) {
    const happened = `cannot be asked without an API key: set ${variable} in the worker's environment, or OPENAI_BASE_URL for a server that wants none.`;
    return failureOf('auth', happened, at);
  }
  const { organization } = options;
  return { baseUrl, headers, context, ...(apiKey !== undefined && { apiKey }), ...(organization && { organization }) };
}

/** Variables are often set to nothing, and read from files with their line end. */
function filled(value: string | undefined): string | undefined {
  const trimmed = value?.trim();
  return trimmed === '' ? undefined : trimmed;
}

/**
 * List prices of well-known models. Data only. They change without notice: users override them where it matters.
 * Standard tier; batch, flex and priority differ. Each row says where and when it was read.
 */
import type { Price } from '../agents/cost.js';

export interface ListedPrice extends Price {
  readonly asOf: string;
  readonly source: string;
}

const OPENAI_TABLE = { asOf: '2026-03-21', source: 'https://deploybase.ai/articles/openai-pricing' };
const OPENAI_5 = { asOf: '2026-03-31', source: 'https://docs.rs/crate/adk-model/latest/source/src/openai/pricing.rs' };
const COPILOT = {
  asOf: '2026-10-01',
  source: 'https://raw.githubusercontent.com/github/docs/main/data/tables/copilot/models-and-pricing.yml',
};
const OPENAI_2025 = { asOf: '2025-06-03', source: 'https://hex.pm/packages/openai_responses/0.4.1' };
const RELEASES = { asOf: '2026-10-12', source: 'https://docs.apiyi.com/models/index.md' };
const GPT_6 = { asOf: '2026-11-01', source: 'https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0' };
const GPT_6_ASTRA = { asOf: '2026-10-12', source: 'https://huggingface.co/datasets/inferama/ai-model-pricing' };
const GPT_6_SOL = { asOf: '2026-09-23', source: 'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.21' };
const CLAUDE = { asOf: '2026-10-24', source: 'https://platform.claude.com/docs/en/about-claude/pricing' };
const DEEPSEEK = { asOf: '2026-10-27', source: 'https://github.com/benderandrew069/deepseek-api-pricing-2026/wiki' };
const GEMINI = { asOf: '2026-04-19', source: 'https://github.com/schlebek/ai-wish-generator/releases/tag/v3.2.0' };

export const PRICE_LIST: Readonly<Record<string, ListedPrice>> = {
  'gpt-6.2-astra': {
    input: 8,
    cachedInput: 0.4,
    output: 40,
    long: { over: 272_000, input: 16, cachedInput: 0.8, output: 60 },
    ...GPT_6,
  },
  'gpt-6.2-sol': {
    input: 2,
    cachedInput: 0.1,
    output: 10,
    long: { over: 272_000, input: 4, cachedInput: 0.2, output: 15 },
    ...GPT_6,
  },
  'gpt-6.1-sol': {
    input: 2,
    cachedInput: 0.1,
    output: 10,
    asOf: '2026-09-29',
    source: 'https://docs.apiyi.com/en/news/gpt-6-1-sol-launch.md',
  },
  'gpt-6-astra': {
    input: 10,
    cachedInput: 1,
    output: 50,
    long: { over: 272_000, input: 20, cachedInput: 2, output: 75 },
    ...GPT_6_ASTRA,
  },
  'gpt-6-sol': { input: 2, cachedInput: 0.2, output: 10, ...GPT_6_SOL },
  'gpt-6-luna': { input: 0.1, cachedInput: 0.01, output: 0.5, ...GPT_6_SOL },
  'gpt-5.6-sol': { input: 4, cachedInput: 0.4, output: 20, ...RELEASES },
  'gpt-5.6-terra': { input: 2, cachedInput: 0.2, output: 12, ...RELEASES },
  'gpt-5.6-luna': { input: 0.2, cachedInput: 0.02, output: 1.2, ...RELEASES },
  'gpt-5.5': { input: 5, cachedInput: 0.5, output: 30, ...RELEASES },
  'gpt-5.5-pro': { input: 30, cachedInput: 3, output: 180, ...RELEASES },
  'gpt-5.4': { input: 2.5, cachedInput: 0.25, output: 15, ...RELEASES },
  'gpt-5.4-pro': { input: 30, cachedInput: 3, output: 180, ...RELEASES },
  'gpt-5.4-mini': { input: 0.75, cachedInput: 0.075, output: 4.5, ...RELEASES },
  'gpt-5.4-nano': {
    input: 0.2,
    output: 1.25,
    asOf: '2026-03-17',
    source: 'https://vercel.com/ai-gateway/models/openai/gpt-5.4-nano.md',
  },
  'gpt-5.2': { input: 1.75, cachedInput: 0.175, output: 14, ...COPILOT },
  'gpt-5.1': { input: 1.25, cachedInput: 0.125, output: 10, ...OPENAI_5 },
  'gpt-5': { input: 1.25, cachedInput: 0.125, output: 10, ...OPENAI_5 },
  'gpt-5-mini': { input: 0.25, cachedInput: 0.025, output: 2, ...COPILOT },
  'gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4, ...OPENAI_5 },
  'gpt-5-pro': { input: 15, output: 120, ...OPENAI_TABLE },
  'gpt-4.1': { input: 2, cachedInput: 0.5, output: 8, ...COPILOT },
  'gpt-4.1-mini': { input: 0.4, cachedInput: 0.1, output: 1.6, ...OPENAI_2025 },
  'gpt-4.1-nano': { input: 0.1, cachedInput: 0.025, output: 0.4, ...OPENAI_2025 },
  'gpt-4o': { input: 2.5, cachedInput: 1.25, output: 10, ...OPENAI_2025 },
  'gpt-4o-mini': {
    input: 0.15,
    cachedInput: 0.075,
    output: 0.6,
    asOf: '2025-01-01',
    source: 'https://docs.rs/crate/openai-models/0.1.1/source/src/lib.rs',
  },
  o1: {
    input: 15,
    cachedInput: 7.5,
    output: 60,
    asOf: '2025-01-01',
    source: 'https://docs.rs/crate/openai-models/0.1.1/source/src/lib.rs',
  },
  o3: { input: 2, output: 8, ...OPENAI_TABLE },
  'o3-mini': { input: 1.1, cachedInput: 0.55, output: 4.4, ...OPENAI_TABLE },
  'o4-mini': {
    input: 1.1,
    cachedInput: 0.275,
    output: 4.4,
    asOf: '2025-08-01',
    source: 'https://app.unpkg.com/@lobehub/chat@1.110.1/files/src/config/aiModels/openai.ts',
  },

  'claude-opus-5-5': { input: 4, cachedInput: 0.2, output: 20, ...CLAUDE },
  'claude-opus-5': { input: 5, cachedInput: 0.5, output: 25, ...CLAUDE },
  'claude-opus-4-5': { input: 5, cachedInput: 0.5, output: 25, ...CLAUDE },
  'claude-sonnet-5-5': { input: 2, cachedInput: 0.1, output: 10, ...CLAUDE },
  'claude-sonnet-5': { input: 2, cachedInput: 0.2, output: 10, ...CLAUDE },
  'claude-sonnet-4-5': { input: 3, cachedInput: 0.3, output: 15, ...CLAUDE },
  'claude-haiku-5-5': {
    input: 0.1,
    cachedInput: 0.01,
    output: 0.5,
    long: { over: 100_000, input: 0.5, cachedInput: 0.05, output: 2.5 },
    ...CLAUDE,
  },
  'claude-haiku-4-5': { input: 1, cachedInput: 0.1, output: 5, ...CLAUDE },

  // The dearer rates, of the peak hours: a budget must not be passed because of the clock.
  'deepseek-flash': { input: 0.3, cachedInput: 0.006, output: 1.2, ...DEEPSEEK },
  'deepseek-v4-pro': { input: 1.32, cachedInput: 0.044, output: 3.96, ...DEEPSEEK },

  'gemini-2.5-pro': { input: 1.25, output: 10, ...GEMINI },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, ...GEMINI },
  'gemini-2.5-flash-lite': { input: 0.1, output: 0.4, ...GEMINI },
};

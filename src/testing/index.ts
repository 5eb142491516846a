/** The entry `everlap/testing`: what tests of agents need. Never imported by anything that runs in production. */
export { DEMO_TASK, demoScript } from './demo-script.js';
export { gate, type Gate, type Wait } from './gate.js';
export { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';
export type { Script, Scripts, StepMaker } from './script.js';
export {
  textOf,
  type ChatRequest,
  type Closed,
  type RecordedRequest,
  type WireCall,
  type WireMessage,
} from './request.js';
export {
  answer,
  call,
  calls,
  cleanEnd,
  cut,
  emptyBody,
  fallSilent,
  hangUp,
  html,
  httpError,
  inStreamError,
  raw,
  silence,
  text,
  type AnswerOptions,
  type AnswerStep,
  type Ending,
  type HttpErrorOptions,
  type NoReplyStep,
  type RawOptions,
  type RawStep,
  type ScriptedCall,
  type ScriptedUsage,
  type Step,
  type Timing,
} from './steps.js';
export { strictComplaint } from '../conversation/strict.js';

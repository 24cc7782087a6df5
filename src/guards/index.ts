/**
 * `hookspan/hooks`: guards. A hook is written once and runs in every agent. Optional: the tracing core does not load this
 * module.
 */

export type { Failure, HookRun, Injection, Outcome } from './chain.ts'
export type { ConfiguredHooks } from './configured-hooks.ts'
export type { About } from './context.ts'
export { type ControlHooks, type CreateHooksOptions, createHooks, type HookInfo } from './create-hooks.ts'
export {
  type Answer,
  type Answers,
  type Circumstances,
  type Extension,
  type ExtensionResult,
  type FromExtensionOptions,
  fromExtension,
} from './from-extension.ts'
export {
  type AfterInvocationEvent,
  type AfterModelCallEvent,
  type AfterToolCallEvent,
  type BeforeInvocationEvent,
  type BeforeModelCallEvent,
  type BeforeToolCallEvent,
  type FromProviderOptions,
  fromProvider,
  HookPriority,
  type HookProvider,
} from './from-provider.ts'
export {
  type AnyHook,
  type DecisionsByPhase,
  defineHook,
  type Hook,
  type HookAnswer,
  type HookContext,
  type HookLogger,
  type PhaseFunctions,
  PRIORITY,
} from './hook.ts'
export {
  type Capabilities,
  type HookIds,
  HostHooks,
  type HostHooksOptions,
  type RunHooksOptions,
  runHooks,
  type TracedPlugin,
} from './host-hooks.ts'
export type { LoadedHook } from './load-folder.ts'
export { type LoadHooksOptions, loadHooks } from './load-hooks.ts'
export type {
  AfterModel,
  AfterTool,
  AfterTurn,
  BeforeModel,
  BeforeTool,
  BeforeTurn,
  DecisionOf,
  EventOf,
  ModelMessage,
  ModelUsage,
  Phase,
  Phases,
  ValueOf,
  Verdict,
} from './phases.ts'
export { type RawToolCall, type ToolArguments, type ToolCall, type ToolKind, toolCallOf } from './tool-call.ts'
export {
  type Ask,
  ask,
  type Block,
  block,
  type Decision,
  type Inject,
  type InjectedRole,
  inject,
  type Pass,
  pass,
  type Retry,
  type Rewrite,
  retry,
  rewrite,
  type VerdictBase,
} from './verdict.ts'

/**
 * `hookspan/hooks`: guards. A hook is written once and runs in every agent. Optional: the tracing core does not load this
 * module.
 */

export type { Failure, HookRun, Injection, Outcome } from './chain.ts'
export type { ConfiguredHooks } from './configured-hooks.ts'
export type { About } from './context.ts'
export { type ControlHooks, type CreateHooksOptions, createHooks, type HookInfo } from './create-hooks.ts'
export type * from './from-extension.ts'
export { fromExtension } from './from-extension.ts'
export type * from './from-provider.ts'
export { fromProvider, HookPriority } from './from-provider.ts'
export type { AnyHook, DecisionsByPhase, Hook, HookAnswer, HookContext, HookLogger, PhaseFunctions } from './hook.ts'
export { defineHook, PRIORITY } from './hook.ts'
export type { Capabilities, HookIds, HostHooksOptions, RunHooksOptions, TracedPlugin } from './host-hooks.ts'
export { HostHooks, runHooks } from './host-hooks.ts'
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
export type { Ask, Block, Decision, Inject, InjectedRole, Pass, Retry, Rewrite, VerdictBase } from './verdict.ts'
export { ask, block, inject, pass, retry, rewrite } from './verdict.ts'

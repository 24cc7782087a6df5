/**
 * OpenTelemetry traces and metrics from the hooks of AI agents.
 *
 * @example
 * import { register } from 'hookspan'
 * export default ctx => register(ctx, { host: 'my-agent' })
 */

export type * from './contract/hook-record.ts'
export type * from './contract/host.ts'
export type {
  ControlAction,
  ControlFailure,
  ControlPhase,
  ControlVerdict,
  FinalStatus,
  HookResult,
  IncompleteReason,
  SpanKindName,
} from './contract/index.ts'
export { HOOK_NAMES, HOOKS, isHookName } from './contract/index.ts'
export type * from './contract/payloads.ts'
export type * from './delivery/backends/backend-config.ts'
export type { BackendStats, LogCounts, MetricReader, SpanCounts, SpanProcessor } from './delivery/pipeline/index.ts'
export type { KeyName, UserBackend, UserConfig, UserValue } from './plugin/config/types.ts'
export { createPlugin } from './plugin/create-plugin.ts'
export type * from './plugin/plugin.ts'
export { register } from './plugin/register.ts'
export type {
  ApprovalHandle,
  ApprovalOptions,
  End,
  RequestHandle,
  RequestIds,
  RequestOptions,
  RunTurn,
  SubagentOptions,
  ToolCallOptions,
  ToolHandle,
  ToolIds,
  TurnHandle,
  TurnIds,
  TurnOperations,
  TurnOptions,
} from './plugin/wrappers/turn.ts'

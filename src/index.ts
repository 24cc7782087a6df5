/**
 * OpenTelemetry traces and metrics from the hooks of AI agents.
 *
 * @example
 * import { register } from 'hookspan'
 * export default ctx => register(ctx, { host: 'my-agent' })
 */

export type { BackendConfig, UserBackend, UserConfig } from './config/types.ts'
export type {
  Belongings,
  Correlation,
  DelegationIdentity,
  FinalStatus,
  HookHandler,
  HookMeta,
  HookName,
  HookPayloads,
  HookRecord,
  HookResult,
  HostContext,
  Identity,
  IncompleteReason,
} from './contract/index.ts'
export { HOOK_NAMES, HOOKS, isHookName } from './contract/index.ts'
export { createPlugin } from './wiring/create-plugin.ts'
export type { Logger } from './wiring/diagnostics.ts'
export type {
  Context,
  Enrich,
  EnrichedSpan,
  EnrichRecord,
  Plugin,
  PluginOptions,
  PluginStats,
  SpanIds,
} from './wiring/plugin.ts'
export { register } from './wiring/register.ts'
export type {
  ApprovalHandle,
  ApprovalOptions,
  End,
  RequestHandle,
  RequestIds,
  RequestOptions,
  RunTurn,
  SubagentOptions,
  ToolHandle,
  ToolIds,
  ToolOptions,
  TurnHandle,
  TurnIds,
  TurnOptions,
  Work,
} from './wrappers/handles.ts'

/**
 * OpenTelemetry traces and metrics from the hooks of AI agents.
 *
 * @example
 * import { register } from 'hookspan'
 * export default ctx => register(ctx, { host: 'my-agent' })
 */

export type { BackendType } from './backends/rows.ts'
export type {
  BackendConfig,
  Compression,
  KeyName,
  OtlpProtocol,
  PrometheusAddress,
  StringMap,
  Temporality,
  UserBackend,
  UserValue,
} from './config/types.ts'
export type { UserConfig } from './config/user-config.ts'
export type {
  ApiEnd,
  ApiError,
  ApiStart,
  ApprovalRequest,
  ApprovalResponse,
  AuxiliaryEnd,
  AuxiliaryStart,
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
  HumanInputRequest,
  HumanInputResolved,
  Identity,
  IncompleteReason,
  RequestParameters,
  SessionEnd,
  SessionFinalize,
  SessionReset,
  SessionStart,
  SkillLifecycle,
  SpanKindName,
  StreamEnd,
  StreamStart,
  SubagentStart,
  SubagentStop,
  ToolEnd,
  ToolStart,
  TransformLlmOutput,
  TransformToolResult,
  TurnAnswer,
  TurnStart,
} from './contract/index.ts'
export { HOOK_NAMES, HOOKS, isHookName } from './contract/index.ts'
export type { BackendStats, MetricReader, SpanCounts, SpanProcessor } from './pipeline/index.ts'
export { createPlugin } from './wiring/create-plugin.ts'
export type { Logger } from './wiring/diagnostics.ts'
export type { Redact } from './wiring/own-redact.ts'
export type {
  Context,
  CoreStats,
  Enrich,
  EnrichedSpan,
  EnrichRecord,
  Plugin,
  PluginOptions,
  PluginStats,
  SpanIds,
  UnreadStats,
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

import { TOKEN_MODALITY } from './gen-ai-next.ts'

/** Instrument names; `{ns}` is the configured namespace. `tracker/instrument-table.ts` describes each one. */
export const METRIC = {
  sessions: '{ns}.sessions',
  turnDuration: '{ns}.turn.duration',
  samplingTurns: '{ns}.sampling.turns',
  toolCalls: '{ns}.tool.calls',
  toolDuration: '{ns}.tool.duration',
  tokensInput: '{ns}.tokens.input',
  tokensOutput: '{ns}.tokens.output',
  tokensCacheRead: '{ns}.tokens.cache_read',
  tokensCacheWrite: '{ns}.tokens.cache_write',
  tokensReasoning: '{ns}.tokens.reasoning',
  cost: '{ns}.cost',
  apiDuration: '{ns}.api.duration',
  apiErrorCount: '{ns}.api.error.count',
  retryCount: '{ns}.retry.count',
  subagentCount: '{ns}.subagent.count',
  subagentDuration: '{ns}.subagent.duration',
  approvalCount: '{ns}.approval.count',
  approvalDuration: '{ns}.approval.duration',
  hookRuns: '{ns}.hook.runs',
  hookDuration: '{ns}.hook.duration',
  skillInferred: '{ns}.skill.inferred',
  genAiTokenUsage: 'gen_ai.client.token.usage',
  genAiOperationDuration: 'gen_ai.client.operation.duration',
  genAiTimeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  genAiExecuteToolDuration: 'gen_ai.execute_tool.duration',
  genAiInvokeAgentDuration: 'gen_ai.invoke_agent.duration',
  hooks: 'hookspan.hooks',
  spansIncomplete: 'hookspan.spans.incomplete',
  spansOpen: 'hookspan.spans.open',
  turnsOpen: 'hookspan.turns.open',
  exportSpans: 'hookspan.export.spans',
  spoolBytes: 'hookspan.spool.bytes',
} as const

export type MetricKey = keyof typeof METRIC

/** Labels with closed vocabularies: the label limit must not replace their values with `other`. */
const CLOSED = {
  finalStatus: 'final_status',
  part: 'part',
  statusClass: 'status_class',
  retryable: 'retryable',
  status: 'status',
  source: 'source',
  hook: 'hook',
  phase: 'phase',
  verdict: 'verdict',
  failure: 'failure',
  result: 'result',
  reason: 'reason',
  early: 'early',
  backend: 'backend',
  tokenType: 'gen_ai.token.type',
} as const

const LIMITED = {
  kind: 'kind',
  toolName: 'tool_name',
  outcome: 'outcome',
  model: 'model',
  provider: 'provider',
  agent: 'agent',
  errorType: 'error_type',
  role: 'role',
  choice: 'choice',
  patternKey: 'pattern_key',
  skillName: 'skill_name',
  hookName: 'hook_name',
} as const

/** Label keys of hookspan's own instruments. The `gen_ai.*` instruments use those of the conventions. */
export const LABEL: typeof CLOSED & typeof LIMITED = { ...CLOSED, ...LIMITED }

export const CLOSED_LABELS: ReadonlySet<string> = new Set([
  ...Object.values(CLOSED),
  TOKEN_MODALITY,
  'gen_ai.operation.name',
])

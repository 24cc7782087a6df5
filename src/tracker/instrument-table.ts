import { LABEL, type MetricKey, type NextMetricKey, TOKEN_MODALITY } from '../contract/semconv/index.ts'

/** One instrument. The documentation table is generated from these rows, and the dashboards are checked against them. */
export interface InstrumentRow {
  readonly kind: 'counter' | 'histogram' | 'up_down_counter' | 'gauge'
  readonly unit: string
  readonly description: string
  readonly labels: readonly string[]
  /** Event that records a point, in words. */
  readonly recorded: string
  /** Upper bounds of a histogram's buckets, in `unit`. */
  readonly buckets?: readonly number[]
}

function counter(unit: string, description: string, labels: readonly string[], recorded: string): InstrumentRow {
  return { kind: 'counter', unit, description, labels, recorded }
}

function histogram(
  [unit, buckets]: readonly [unit: string, buckets: readonly number[]],
  description: string,
  labels: readonly string[],
  recorded: string,
): InstrumentRow {
  return { kind: 'histogram', unit, description, labels, recorded, buckets }
}

function doubling(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, step) => Number((first * 2 ** step).toPrecision(12)))
}

const OPERATION = ['s', doubling(0.01, 14)] as const
const TURN = ['s', doubling(0.1, 13)] as const
const TOKENS = ['{token}', Array.from({ length: 14 }, (_, power) => 4 ** power)] as const
const TOOL = ['ms', [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]] as const
const API = ['ms', [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000]] as const
const APPROVAL = ['ms', [100, 500, 1000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000]] as const
const CONTROL = ['ms', [0.1, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]] as const
const SUBAGENT = ['ms', [1000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000]] as const
const CALLS = ['{call}', doubling(1, 10)] as const

const TURN_LABELS = [LABEL.kind, LABEL.finalStatus]
const GEN_AI_TOOL_LABELS = ['gen_ai.tool.name', 'error.type']
const MODEL_LABELS = [LABEL.model, LABEL.provider]
const TOOL_LABELS = [LABEL.toolName, LABEL.outcome]
const APPROVAL_LABELS = [LABEL.choice, LABEL.patternKey]
const AGENT_LABELS = ['gen_ai.agent.name', 'error.type']
const GEN_AI_LABELS = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.response.model']
const GEN_AI_ERROR_LABELS = [...GEN_AI_LABELS, 'error.type']

function tokenCounter(description: string): InstrumentRow {
  return counter('{token}', description, [LABEL.model, LABEL.provider, LABEL.part], 'api and auxiliary end, non-zero')
}

export const INSTRUMENTS: { readonly [Key in MetricKey]: InstrumentRow } = {
  sessions: counter('{turn}', 'Turns that ended', TURN_LABELS, 'root end'),
  turnDuration: histogram(TURN, 'Duration of a turn, including waits for the user', TURN_LABELS, 'root end'),
  samplingTurns: counter(
    '{turn}',
    'Sampled turns by the reason to keep their trace; `none` if it is not kept',
    [LABEL.reason, LABEL.early],
    'root end, with `keep`; `early` if memory for the trace ran out',
  ),
  toolCalls: counter('{call}', 'Tool calls that ended', TOOL_LABELS, 'tool end'),
  toolDuration: histogram(TOOL, 'Duration of a tool call', TOOL_LABELS, 'tool end, if the duration is known'),
  tokensInput: tokenCounter('Input tokens of model requests, including cached ones'),
  tokensOutput: tokenCounter('Output tokens of model requests, including reasoning'),
  tokensCacheRead: tokenCounter('Input tokens that model requests read from a cache'),
  tokensCacheWrite: tokenCounter('Input tokens that model requests wrote to a cache'),
  tokensReasoning: tokenCounter('Output tokens that model requests spent on reasoning'),
  cost: counter(
    '{dollar}',
    'Known cost of model requests in US dollars',
    [LABEL.model, LABEL.provider, LABEL.agent],
    'api and auxiliary end, if the agent or `prices` gives the cost',
  ),
  apiDuration: histogram(API, 'Duration of an attempt at a model request that succeeded', MODEL_LABELS, 'api end'),
  apiErrorCount: counter(
    '{request}',
    'Attempts at a model request that failed',
    [LABEL.errorType, LABEL.statusClass, LABEL.retryable],
    'api error',
  ),
  retryCount: counter('{attempt}', 'Failed attempts that may be retried', MODEL_LABELS, 'retryable api error'),
  subagentCount: counter('{run}', 'Delegated child agents that returned', [LABEL.role, LABEL.status], 'subagent end'),
  subagentDuration: histogram(SUBAGENT, 'Duration of a delegated child agent', [LABEL.role], 'subagent end'),
  approvalCount: counter(
    '{prompt}',
    'Approval prompts that were answered or timed out',
    APPROVAL_LABELS,
    'approval end, also without a start',
  ),
  approvalDuration: histogram(APPROVAL, 'Waiting time of an approval prompt', APPROVAL_LABELS, 'approval end'),
  hookRuns: counter(
    '{run}',
    'Runs of guards by verdict',
    [LABEL.hookName, LABEL.phase, LABEL.verdict, LABEL.failure],
    'guard end, also without a span; `failure` if it failed',
  ),
  hookDuration: histogram(
    CONTROL,
    'Duration of a run of a guard',
    [LABEL.hookName, LABEL.phase],
    'guard end, if the duration is known; not for sums',
  ),
  skillInferred: counter('{hit}', 'Tool calls that loaded a skill', [LABEL.skillName, LABEL.source], 'skill detected'),
  genAiTokenUsage: histogram(TOKENS, 'Tokens used by a model request', [...GEN_AI_LABELS, LABEL.tokenType], 'api end'),
  genAiOperationDuration: histogram(OPERATION, 'Duration of a model request', GEN_AI_ERROR_LABELS, 'api end and error'),
  genAiTimeToFirstChunk: histogram(
    OPERATION,
    'Time from a streamed model request to its first chunk',
    GEN_AI_LABELS,
    'api end, streaming',
  ),
  genAiExecuteToolDuration: histogram(OPERATION, 'Duration of a tool call', GEN_AI_TOOL_LABELS, 'tool end'),
  genAiInvokeAgentDuration: histogram(TURN, 'Duration of one turn of an agent', AGENT_LABELS, 'root end'),
  hooks: counter('{hook}', 'Hook records received', [LABEL.hook, LABEL.result], 'every record'),
  spansIncomplete: counter('{span}', 'Spans that hookspan had to end itself', [LABEL.reason], 'end by hookspan'),
  spansOpen: { ...counter('{span}', 'Spans that are open', [], 'collection'), kind: 'up_down_counter' },
  turnsOpen: { ...counter('{turn}', 'Turns that are open', [], 'collection'), kind: 'up_down_counter' },
  exportSpans: counter('{span}', 'Spans passed to a backend, by result', [LABEL.backend, LABEL.result], 'delivery'),
  spoolBytes: {
    ...counter('By', 'Bytes of the trace log that a backend has not acknowledged', [LABEL.backend], 'delivery'),
    kind: 'gauge',
  },
}

function nextCounter(description: string): InstrumentRow {
  return counter('{token}', description, [...GEN_AI_LABELS, TOKEN_MODALITY], 'api end, non-zero')
}

/** Recorded only if `conventions` contains `gen_ai_next`. */
export const NEXT_INSTRUMENTS: { readonly [Key in NextMetricKey]: InstrumentRow } = {
  nextInferenceDuration: histogram(OPERATION, 'Duration of a model request', GEN_AI_ERROR_LABELS, 'api end'),
  nextTimeToFirstChunk: histogram(OPERATION, 'Time to the first chunk of a streamed request', GEN_AI_LABELS, 'api end'),
  nextUsageInput: nextCounter('Input tokens of model requests, including cached ones'),
  nextUsageOutput: nextCounter('Output tokens of model requests, including reasoning'),
  nextUsageCacheRead: nextCounter('Input tokens that model requests read from a cache'),
  nextUsageCacheWrite: nextCounter('Input tokens that model requests wrote to a cache'),
  nextUsageReasoning: nextCounter('Output tokens that model requests spent on reasoning'),
  nextOperationInput: histogram(TOKENS, 'Input tokens of one model request', GEN_AI_LABELS, 'api end'),
  nextOperationOutput: histogram(TOKENS, 'Output tokens of one model request', GEN_AI_LABELS, 'api end'),
  nextInferenceCalls: histogram(CALLS, 'Model requests of one turn of an agent', AGENT_LABELS, 'api end'),
  nextToolCalls: histogram(CALLS, 'Tool calls of one turn of an agent', AGENT_LABELS, 'api end'),
}

import { LABEL, type MetricKey, type NextMetricKey, TOKEN_MODALITY } from '../contract/semconv/index.ts'

export type InstrumentKind = 'counter' | 'histogram' | 'up_down_counter' | 'gauge'

/** One instrument. The documentation table is generated from these rows, and the dashboards are checked against them. */
export interface InstrumentRow {
  readonly kind: InstrumentKind
  readonly unit: string
  readonly description: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram's buckets, in `unit`. */
  readonly buckets?: readonly number[]
  readonly recorded: string
}

function doubling(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, step) => Number((first * 2 ** step).toPrecision(12)))
}

const OPERATION_SECONDS = doubling(0.01, 14)
const TURN_SECONDS = doubling(0.1, 13)
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)
const TOOL_MILLIS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]
const API_MILLIS = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000]
const APPROVAL_MILLIS = [100, 500, 1000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000]
const CONTROL_MILLIS = [0.1, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]
const SUBAGENT_MILLIS = [1000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000]

const GEN_AI_LABELS = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
] as const

function tokenCounter(description: string): InstrumentRow {
  return {
    kind: 'counter',
    unit: '{token}',
    description,
    labels: [LABEL.model, LABEL.provider, LABEL.part],
    recorded: 'api and auxiliary end, non-zero',
  }
}

export const INSTRUMENTS: { readonly [Key in MetricKey]: InstrumentRow } = {
  sessions: {
    kind: 'counter',
    unit: '{turn}',
    description: 'Turns that ended',
    labels: [LABEL.kind, LABEL.finalStatus],
    recorded: 'root end',
  },
  turnDuration: {
    kind: 'histogram',
    unit: 's',
    description: 'Duration of a turn, including waits for the user',
    labels: [LABEL.kind, LABEL.finalStatus],
    buckets: TURN_SECONDS,
    recorded: 'root end',
  },
  samplingTurns: {
    kind: 'counter',
    unit: '{turn}',
    description: 'Sampled turns by the reason to keep their trace; `none` if it is not kept',
    labels: [LABEL.reason, LABEL.early],
    recorded: 'root end, with `keep`; `early` if memory for the trace ran out',
  },
  toolCalls: {
    kind: 'counter',
    unit: '{call}',
    description: 'Tool calls that ended',
    labels: [LABEL.toolName, LABEL.outcome],
    recorded: 'tool end',
  },
  toolDuration: {
    kind: 'histogram',
    unit: 'ms',
    description: 'Duration of a tool call',
    labels: [LABEL.toolName, LABEL.outcome],
    buckets: TOOL_MILLIS,
    recorded: 'tool end, if the duration is known',
  },
  tokensInput: tokenCounter('Input tokens of model requests, including cached ones'),
  tokensOutput: tokenCounter('Output tokens of model requests, including reasoning'),
  tokensCacheRead: tokenCounter('Input tokens that model requests read from a cache'),
  tokensCacheWrite: tokenCounter('Input tokens that model requests wrote to a cache'),
  tokensReasoning: tokenCounter('Output tokens that model requests spent on reasoning'),
  cost: {
    kind: 'counter',
    unit: '{dollar}',
    description: 'Known cost of model requests in US dollars',
    labels: [LABEL.model, LABEL.provider, LABEL.agent],
    recorded: 'api and auxiliary end, if the agent or `prices` gives the cost',
  },
  apiDuration: {
    kind: 'histogram',
    unit: 'ms',
    description: 'Duration of an attempt at a model request that succeeded',
    labels: [LABEL.model, LABEL.provider],
    buckets: API_MILLIS,
    recorded: 'api end',
  },
  apiErrorCount: {
    kind: 'counter',
    unit: '{request}',
    description: 'Attempts at a model request that failed',
    labels: [LABEL.errorType, LABEL.statusClass, LABEL.retryable],
    recorded: 'api error',
  },
  retryCount: {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Failed attempts that may be retried',
    labels: [LABEL.model, LABEL.provider],
    recorded: 'retryable api error',
  },
  subagentCount: {
    kind: 'counter',
    unit: '{run}',
    description: 'Delegated child agents that returned',
    labels: [LABEL.role, LABEL.status],
    recorded: 'subagent end',
  },
  subagentDuration: {
    kind: 'histogram',
    unit: 'ms',
    description: 'Duration of a delegated child agent',
    labels: [LABEL.role],
    buckets: SUBAGENT_MILLIS,
    recorded: 'subagent end',
  },
  approvalCount: {
    kind: 'counter',
    unit: '{prompt}',
    description: 'Approval prompts that were answered or timed out',
    labels: [LABEL.choice, LABEL.patternKey],
    recorded: 'approval end, also without a start',
  },
  approvalDuration: {
    kind: 'histogram',
    unit: 'ms',
    description: 'Waiting time of an approval prompt',
    labels: [LABEL.choice, LABEL.patternKey],
    buckets: APPROVAL_MILLIS,
    recorded: 'approval end',
  },
  hookRuns: {
    kind: 'counter',
    unit: '{run}',
    description: 'Runs of guards by verdict',
    labels: [LABEL.hookName, LABEL.phase, LABEL.verdict, LABEL.failure],
    recorded: 'guard end, also without a span; `failure` if it failed',
  },
  hookDuration: {
    kind: 'histogram',
    unit: 'ms',
    description: 'Duration of a run of a guard',
    labels: [LABEL.hookName, LABEL.phase],
    buckets: CONTROL_MILLIS,
    recorded: 'guard end, if the duration is known; not for sums',
  },
  skillInferred: {
    kind: 'counter',
    unit: '{hit}',
    description: 'Tool calls that loaded a skill',
    labels: [LABEL.skillName, LABEL.source],
    recorded: 'skill detected',
  },
  genAiTokenUsage: {
    kind: 'histogram',
    unit: '{token}',
    description: 'Tokens used by a model request',
    labels: [...GEN_AI_LABELS, LABEL.tokenType],
    buckets: TOKENS,
    recorded: 'api end',
  },
  genAiOperationDuration: {
    kind: 'histogram',
    unit: 's',
    description: 'Duration of a model request',
    labels: [...GEN_AI_LABELS, 'error.type'],
    buckets: OPERATION_SECONDS,
    recorded: 'api end and error',
  },
  genAiTimeToFirstChunk: {
    kind: 'histogram',
    unit: 's',
    description: 'Time from a streamed model request to its first chunk',
    labels: [...GEN_AI_LABELS],
    buckets: OPERATION_SECONDS,
    recorded: 'api end, streaming',
  },
  genAiExecuteToolDuration: {
    kind: 'histogram',
    unit: 's',
    description: 'Duration of a tool call',
    labels: ['gen_ai.tool.name', 'error.type'],
    buckets: OPERATION_SECONDS,
    recorded: 'tool end',
  },
  genAiInvokeAgentDuration: {
    kind: 'histogram',
    unit: 's',
    description: 'Duration of one turn of an agent',
    labels: ['gen_ai.agent.name', 'error.type'],
    buckets: TURN_SECONDS,
    recorded: 'root end',
  },
  hooks: {
    kind: 'counter',
    unit: '{hook}',
    description: 'Hook records received',
    labels: [LABEL.hook, LABEL.result],
    recorded: 'every record',
  },
  spansIncomplete: {
    kind: 'counter',
    unit: '{span}',
    description: 'Spans that hookspan had to end itself',
    labels: [LABEL.reason],
    recorded: 'end by hookspan',
  },
  spansOpen: {
    kind: 'up_down_counter',
    unit: '{span}',
    description: 'Spans that are open',
    labels: [],
    recorded: 'collection',
  },
  turnsOpen: {
    kind: 'up_down_counter',
    unit: '{turn}',
    description: 'Turns that are open',
    labels: [],
    recorded: 'collection',
  },
  exportSpans: {
    kind: 'counter',
    unit: '{span}',
    description: 'Spans passed to a backend, by result',
    labels: [LABEL.backend, LABEL.result],
    recorded: 'delivery',
  },
  spoolBytes: {
    kind: 'gauge',
    unit: 'By',
    description: 'Bytes of the trace log that a backend has not acknowledged',
    labels: [LABEL.backend],
    recorded: 'delivery',
  },
}

function nextCounter(description: string): InstrumentRow {
  return {
    kind: 'counter',
    unit: '{token}',
    description,
    labels: [...GEN_AI_LABELS, TOKEN_MODALITY],
    recorded: 'api end, non-zero',
  }
}

function nextHistogram(unit: string, description: string, labels: readonly string[], buckets: readonly number[]) {
  return { kind: 'histogram', unit, description, labels, buckets, recorded: 'api end' } as const
}

const CALLS = doubling(1, 10)
const AGENT_LABELS = ['gen_ai.agent.name', 'error.type'] as const

/** Recorded only if `conventions` contains `gen_ai_next`. */
export const NEXT_INSTRUMENTS: { readonly [Key in NextMetricKey]: InstrumentRow } = {
  nextInferenceDuration: nextHistogram(
    's',
    'Duration of a model request',
    [...GEN_AI_LABELS, 'error.type'],
    OPERATION_SECONDS,
  ),
  nextTimeToFirstChunk: nextHistogram(
    's',
    'Time to the first chunk of a streamed request',
    GEN_AI_LABELS,
    OPERATION_SECONDS,
  ),
  nextUsageInput: nextCounter('Input tokens of model requests, including cached ones'),
  nextUsageOutput: nextCounter('Output tokens of model requests, including reasoning'),
  nextUsageCacheRead: nextCounter('Input tokens that model requests read from a cache'),
  nextUsageCacheWrite: nextCounter('Input tokens that model requests wrote to a cache'),
  nextUsageReasoning: nextCounter('Output tokens that model requests spent on reasoning'),
  nextOperationInput: nextHistogram('{token}', 'Input tokens of one model request', GEN_AI_LABELS, TOKENS),
  nextOperationOutput: nextHistogram('{token}', 'Output tokens of one model request', GEN_AI_LABELS, TOKENS),
  nextInferenceCalls: nextHistogram('{call}', 'Model requests of one turn of an agent', AGENT_LABELS, CALLS),
  nextToolCalls: nextHistogram('{call}', 'Tool calls of one turn of an agent', AGENT_LABELS, CALLS),
}

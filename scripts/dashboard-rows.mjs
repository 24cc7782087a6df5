/** The dashboard's rows of panels, top to bottom, left to right. */

const panel = kind => (title, unit, targets, about) => ({ kind, title, unit, targets, about })
/** One number for the whole time range. */
const stat = panel('stat')
const lines = panel('lines')
/** Events a minute, stacked. */
const bars = panel('bars')

const PERCENTILES = [0.5, 0.95]
const percentiles = (histogram, ...labels) =>
  PERCENTILES.map(q => [
    histogram.quantile(q, ...labels),
    [`p${q * 100}`, histogram.legend(...labels)].join(' ').trim(),
  ])
const p95 = (histogram, ...labels) => [[histogram.quantile(0.95, ...labels), histogram.legend(...labels)]]
const perMinute = (counter, ...labels) => [[counter.perMinute(...labels), counter.legend(...labels)]]
const now = (gauge, ...labels) => [[gauge.now(...labels), gauge.legend(...labels)]]
const share = (some, all) => `(${some} or vector(0)) / ${all}`

const FAILED_TURN = 'final_status=~"failed|crashed|incomplete"'

function turns({ sessions, samplingTurns, turnsOpen, turnDuration, genAiInvokeAgentDuration, approvalDuration }) {
  return [
    stat('Turns', 'short', [[sessions.inRange(), 'turns']]),
    stat('Failure rate', 'percentunit', [[share(sessions.inRange(FAILED_TURN), sessions.inRange()), 'failed']]),
    stat(
      'Timed out',
      'short',
      [[sessions.inRange('final_status="timed_out"'), 'timed out']],
      'Turns whose end was never reported.',
    ),
    stat('Open turns', 'short', [[turnsOpen.now(), 'open']]),
    stat('Turn duration, p95', 's', [[turnDuration.quantileInRange(0.95), 'p95']], 'Including waits for approval.'),
    stat('Approval wait, total', 'ms', [[approvalDuration.sumInRange(), 'waited']]),
    bars('Turns by outcome', 'short', perMinute(sessions, 'final_status')),
    bars('Turns by kind', 'short', perMinute(sessions, 'kind')),
    lines('Turn duration', 's', percentiles(turnDuration, 'final_status'), 'Including waits for approval.'),
    lines('Turn duration by agent, p95', 's', p95(genAiInvokeAgentDuration, 'gen_ai.agent.name', 'error.type')),
    bars(
      'Turns by sampling reason',
      'short',
      perMinute(samplingTurns, 'reason'),
      'With `keep`. `none`: the turn is not sent.',
    ),
  ]
}

function tokens(m) {
  const each = [
    [m.tokensInput.perMinute(), 'input'],
    [m.tokensOutput.perMinute(), 'output'],
    [m.tokensCacheRead.perMinute(), 'cache read'],
    [m.tokensCacheWrite.perMinute(), 'cache write'],
    [m.tokensReasoning.perMinute(), 'reasoning'],
  ]
  const fromCache = share(m.tokensCacheRead.inRange(), m.tokensInput.inRange())
  const perTurn = `(${m.tokensInput.inRange()} + ${m.tokensOutput.inRange()}) / ${m.sessions.inRange()}`
  return [
    stat('Input tokens', 'short', [[m.tokensInput.inRange(), 'tokens']], 'Including cached input.'),
    stat('Output tokens', 'short', [[m.tokensOutput.inRange(), 'tokens']], 'Including reasoning.'),
    stat('Cache hit rate', 'percentunit', [[fromCache, 'from cache']], 'Share of input tokens read from a cache.'),
    stat('Cache write tokens', 'short', [[m.tokensCacheWrite.inRange(), 'tokens']]),
    stat('Reasoning tokens', 'short', [[m.tokensReasoning.inRange(), 'tokens']]),
    stat('Tokens per turn', 'short', [[perTurn, 'tokens']], 'Input and output.'),
    stat('Cost', 'currencyUSD', [[m.cost.inRange(), 'US dollars']], 'Requests with a known cost.'),
    lines(
      'Tokens per minute',
      'short',
      each,
      'Do not add: cache reads are part of the input, reasoning is part of the output.',
    ),
    bars('Input tokens by model', 'short', perMinute(m.tokensInput, 'model', 'provider')),
    bars('Output tokens by model', 'short', perMinute(m.tokensOutput, 'model', 'provider')),
    bars(
      'Input tokens by source',
      'short',
      perMinute(m.tokensInput, 'part'),
      'The agent itself, child agents, side calls.',
    ),
    bars('Cost per minute by model', 'currencyUSD', perMinute(m.cost, 'model', 'provider')),
    bars('Cost per minute by agent', 'currencyUSD', perMinute(m.cost, 'agent')),
    lines(
      'Tokens per request, p95',
      'short',
      p95(m.genAiTokenUsage, 'gen_ai.token.type', 'gen_ai.request.model', 'gen_ai.provider.name'),
    ),
  ]
}

function models({ apiDuration, genAiOperationDuration, genAiTimeToFirstChunk }) {
  return [
    lines('Successful attempts per minute', 'short', [
      [apiDuration.observations('model', 'provider'), apiDuration.legend('model', 'provider')],
    ]),
    lines('Attempt duration by model', 'ms', percentiles(apiDuration, 'model'), 'Successful attempts.'),
    lines('Time to first chunk, p95', 's', p95(genAiTimeToFirstChunk, 'gen_ai.request.model')),
    lines(
      'Request duration by response model and error, p95',
      's',
      p95(genAiOperationDuration, 'gen_ai.response.model', 'gen_ai.operation.name', 'error.type'),
    ),
  ]
}

function tools({ toolCalls, toolDuration, genAiExecuteToolDuration, skillInferred }) {
  return [
    bars('Tool calls by name', 'short', perMinute(toolCalls, 'tool_name')),
    bars('Tool calls by outcome', 'short', perMinute(toolCalls, 'outcome')),
    bars('Incomplete tool calls', 'short', [
      [
        toolCalls.perMinuteWhere('outcome!="completed"', 'tool_name', 'outcome'),
        toolCalls.legend('tool_name', 'outcome'),
      ],
    ]),
    lines('Tool duration, p95', 'ms', p95(toolDuration, 'tool_name'), 'As reported by the agent.'),
    lines('Tool duration by error, p95', 's', p95(genAiExecuteToolDuration, 'gen_ai.tool.name', 'error.type')),
    bars('Skills loaded', 'short', perMinute(skillInferred, 'skill_name', 'source')),
  ]
}

function errors({ apiErrorCount, apiDuration, retryCount }) {
  const failed = apiErrorCount.perMinute()
  return [
    bars('Failed attempts by error', 'short', perMinute(apiErrorCount, 'error_type')),
    bars('Failed attempts by status', 'short', perMinute(apiErrorCount, 'status_class', 'retryable')),
    lines('Request error rate', 'percentunit', [
      [
        `(${failed} or vector(0)) / ((${failed} or vector(0)) + (${apiDuration.observations()} or vector(0)))`,
        'failed',
      ],
    ]),
    bars('Retryable failures', 'short', perMinute(retryCount, 'model', 'provider')),
  ]
}

function approvals({ approvalCount, approvalDuration }) {
  return [
    bars('Approvals by answer', 'short', perMinute(approvalCount, 'choice')),
    bars('Approvals by pattern', 'short', perMinute(approvalCount, 'pattern_key')),
    lines('Approval wait by answer', 'ms', percentiles(approvalDuration, 'choice')),
  ]
}

function controls({ hookRuns, hookDuration }) {
  return [
    bars('Guard runs by decision', 'short', perMinute(hookRuns, 'verdict')),
    bars('Decisions by guard', 'short', [
      [hookRuns.perMinuteWhere('verdict!="pass"', 'hook_name', 'phase'), hookRuns.legend('hook_name', 'phase')],
    ]),
    bars('Guard failures', 'short', [
      [hookRuns.perMinuteWhere('verdict="failed"', 'hook_name', 'failure'), hookRuns.legend('hook_name', 'failure')],
    ]),
    lines(
      'Guard duration, p95',
      'ms',
      p95(hookDuration, 'hook_name', 'phase'),
      'Without runs that are reported as sums.',
    ),
  ]
}

function children({ subagentCount, subagentDuration }) {
  return [
    bars('Child agents by role', 'short', perMinute(subagentCount, 'role')),
    bars('Child agents by status', 'short', perMinute(subagentCount, 'status')),
    lines('Child agent duration by role', 'ms', percentiles(subagentDuration, 'role')),
  ]
}

function itself({ hooks, spansIncomplete, spansOpen, turnsOpen, exportSpans, spoolBytes }) {
  const note = 'Do not add: a retried or spooled span is later delivered or dropped.'
  return [
    stat(
      'Dropped spans',
      'short',
      [[exportSpans.inRange('result="dropped"'), 'dropped']],
      'Run `hookspan doctor` for the reason.',
    ),
    stat('Pending bytes', 'bytes', [[spoolBytes.now(), 'pending']], 'Not yet acknowledged, all backends.'),
    bars('Hook records by hook', 'short', perMinute(hooks, 'hook')),
    bars('Hook records by result', 'short', perMinute(hooks, 'result'), '`ignored`: unknown hooks.'),
    bars('Incomplete spans by reason', 'short', perMinute(spansIncomplete, 'reason')),
    lines('Open spans and turns', 'short', [
      [spansOpen.now(), 'spans'],
      [turnsOpen.now(), 'turns'],
    ]),
    lines('Exported spans per minute by result', 'short', perMinute(exportSpans, 'backend', 'result'), note),
    lines('Pending bytes by backend', 'bytes', now(spoolBytes, 'backend')),
  ]
}

/** @param m the result of `expressions()` */
export function rowsOf(m) {
  return [
    { title: 'Turns', panels: turns(m) },
    { title: 'Tokens', panels: tokens(m) },
    { title: 'Model requests', panels: models(m) },
    { title: 'Tools', panels: tools(m) },
    { title: 'Errors and retries', panels: errors(m) },
    { title: 'Approvals', panels: approvals(m) },
    { title: 'Guards', panels: controls(m) },
    { title: 'Child agents', panels: children(m) },
    { title: 'hookspan', panels: itself(m) },
  ]
}

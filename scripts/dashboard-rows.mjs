/** What the dashboard shows: rows of panels, top to bottom, left to right. */

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
    stat('Failed', 'percentunit', [[share(sessions.inRange(FAILED_TURN), sessions.inRange()), 'failed']]),
    stat('Timed out', 'short', [[sessions.inRange('final_status="timed_out"'), 'timed out']], 'Their end never came.'),
    stat('Open now', 'short', [[turnsOpen.now(), 'open']]),
    stat('Turn, p95', 's', [[turnDuration.quantileInRange(0.95), 'p95']], 'Waiting for people included.'),
    stat('Waited for people', 'ms', [[approvalDuration.sumInRange(), 'waited']]),
    bars('Turns by outcome', 'short', perMinute(sessions, 'final_status')),
    bars('Turns by kind', 'short', perMinute(sessions, 'kind')),
    lines('Duration of a turn', 's', percentiles(turnDuration, 'final_status'), 'Waiting for people included.'),
    lines('Duration of a turn by agent, p95', 's', p95(genAiInvokeAgentDuration, 'gen_ai.agent.name', 'error.type')),
    bars(
      'Turns by why they are kept',
      'short',
      perMinute(samplingTurns, 'reason'),
      'With `keep`. `none`: they are not.',
    ),
  ]
}

function tokens(m) {
  const each = [
    [m.tokensInput.perMinute(), 'input'],
    [m.tokensOutput.perMinute(), 'output'],
    [m.tokensCacheRead.perMinute(), 'read from cache'],
    [m.tokensCacheWrite.perMinute(), 'written to cache'],
    [m.tokensReasoning.perMinute(), 'reasoning'],
  ]
  const fromCache = share(m.tokensCacheRead.inRange(), m.tokensInput.inRange())
  const perTurn = `(${m.tokensInput.inRange()} + ${m.tokensOutput.inRange()}) / ${m.sessions.inRange()}`
  return [
    stat('Input', 'short', [[m.tokensInput.inRange(), 'tokens']], 'Cached input included.'),
    stat('Output', 'short', [[m.tokensOutput.inRange(), 'tokens']], 'Reasoning included.'),
    stat('Input from cache', 'percentunit', [[fromCache, 'from cache']]),
    stat('Written to cache', 'short', [[m.tokensCacheWrite.inRange(), 'tokens']]),
    stat('Reasoning', 'short', [[m.tokensReasoning.inRange(), 'tokens']]),
    stat('A turn', 'short', [[perTurn, 'tokens']], 'Input and output.'),
    stat('Cost', 'currencyUSD', [[m.cost.inRange(), 'US dollars']], 'Of the requests whose cost is known.'),
    lines('Tokens a minute', 'short', each, 'Cache is part of the input, reasoning of the output: do not add them up.'),
    bars('Input by model', 'short', perMinute(m.tokensInput, 'model', 'provider')),
    bars('Output by model', 'short', perMinute(m.tokensOutput, 'model', 'provider')),
    bars('Input by whose it is', 'short', perMinute(m.tokensInput, 'part'), 'Own requests, child agents, side calls.'),
    bars('Cost by model, a minute', 'currencyUSD', perMinute(m.cost, 'model', 'provider')),
    bars('Cost by agent, a minute', 'currencyUSD', perMinute(m.cost, 'agent')),
    lines(
      'Tokens of one request, p95',
      'short',
      p95(m.genAiTokenUsage, 'gen_ai.token.type', 'gen_ai.request.model', 'gen_ai.provider.name'),
    ),
  ]
}

function models({ apiDuration, genAiOperationDuration, genAiTimeToFirstChunk }) {
  return [
    lines('Attempts that succeeded, a minute', 'short', [
      [apiDuration.observations('model', 'provider'), apiDuration.legend('model', 'provider')],
    ]),
    lines('Duration of an attempt by model', 'ms', percentiles(apiDuration, 'model'), 'Attempts that succeeded.'),
    lines('Time to the first chunk, p95', 's', p95(genAiTimeToFirstChunk, 'gen_ai.request.model')),
    lines(
      'Duration by answering model, failures apart, p95',
      's',
      p95(genAiOperationDuration, 'gen_ai.response.model', 'gen_ai.operation.name', 'error.type'),
    ),
  ]
}

function tools({ toolCalls, toolDuration, genAiExecuteToolDuration, skillInferred }) {
  return [
    bars('Calls by tool', 'short', perMinute(toolCalls, 'tool_name')),
    bars('Calls by outcome', 'short', perMinute(toolCalls, 'outcome')),
    bars('Calls that did not complete', 'short', [
      [
        toolCalls.perMinuteWhere('outcome!="completed"', 'tool_name', 'outcome'),
        toolCalls.legend('tool_name', 'outcome'),
      ],
    ]),
    lines('Duration by tool, p95', 'ms', p95(toolDuration, 'tool_name'), "The host's own figure."),
    lines('Duration by tool and error, p95', 's', p95(genAiExecuteToolDuration, 'gen_ai.tool.name', 'error.type')),
    bars('Skills loaded', 'short', perMinute(skillInferred, 'skill_name', 'source')),
  ]
}

function errors({ apiErrorCount, apiDuration, retryCount }) {
  const failed = apiErrorCount.perMinute()
  return [
    bars('Failed attempts by error', 'short', perMinute(apiErrorCount, 'error_type')),
    bars('Failed attempts by status', 'short', perMinute(apiErrorCount, 'status_class', 'retryable')),
    lines('Share of attempts that failed', 'percentunit', [
      [
        `(${failed} or vector(0)) / ((${failed} or vector(0)) + (${apiDuration.observations()} or vector(0)))`,
        'failed',
      ],
    ]),
    bars('Failed attempts that may be retried', 'short', perMinute(retryCount, 'model', 'provider')),
  ]
}

function approvals({ approvalCount, approvalDuration }) {
  return [
    bars('Answers', 'short', perMinute(approvalCount, 'choice')),
    bars('Prompts by pattern', 'short', perMinute(approvalCount, 'pattern_key')),
    lines('Waiting time by answer', 'ms', percentiles(approvalDuration, 'choice')),
  ]
}

function controls({ hookRuns, hookDuration }) {
  return [
    bars('Control hooks by verdict', 'short', perMinute(hookRuns, 'verdict')),
    bars('Decisions by control hook', 'short', [
      [hookRuns.perMinuteWhere('verdict!="pass"', 'hook_name', 'phase'), hookRuns.legend('hook_name', 'phase')],
    ]),
    bars('Control hooks that failed', 'short', [
      [hookRuns.perMinuteWhere('verdict="failed"', 'hook_name', 'failure'), hookRuns.legend('hook_name', 'failure')],
    ]),
    lines(
      'Duration by control hook, p95',
      'ms',
      p95(hookDuration, 'hook_name', 'phase'),
      'Runs that are told one by one.',
    ),
  ]
}

function children({ subagentCount, subagentDuration }) {
  return [
    bars('Child agents by role', 'short', perMinute(subagentCount, 'role')),
    bars('Child agents by status', 'short', perMinute(subagentCount, 'status')),
    lines('Duration by role', 'ms', percentiles(subagentDuration, 'role')),
  ]
}

function itself({ hooks, spansIncomplete, spansOpen, turnsOpen, exportSpans, spoolBytes }) {
  const became = 'What was retried or spooled is delivered or dropped in the end: do not add them up.'
  return [
    stat('Spans lost', 'short', [[exportSpans.inRange('result="dropped"'), 'lost']], 'hookspan doctor says why.'),
    stat('Waiting now', 'bytes', [[spoolBytes.now(), 'waiting']], 'Not acknowledged yet, of all backends.'),
    bars('Records by hook', 'short', perMinute(hooks, 'hook')),
    bars('Records by result', 'short', perMinute(hooks, 'result'), 'ignored: a hook that hookspan does not know.'),
    bars('Spans that hookspan had to end', 'short', perMinute(spansIncomplete, 'reason')),
    lines('Open spans and turns', 'short', [
      [spansOpen.now(), 'spans'],
      [turnsOpen.now(), 'turns'],
    ]),
    lines('Spans a minute by what became of them', 'short', perMinute(exportSpans, 'backend', 'result'), became),
    lines('Waiting in the trace log', 'bytes', now(spoolBytes, 'backend')),
  ]
}

/** @param m what `expressions()` returns */
export function rowsOf(m) {
  return [
    { title: 'Turns', panels: turns(m) },
    { title: 'Tokens', panels: tokens(m) },
    { title: 'Latency by model', panels: models(m) },
    { title: 'Tools by outcome', panels: tools(m) },
    { title: 'Errors and retries', panels: errors(m) },
    { title: 'Approvals and waiting time', panels: approvals(m) },
    { title: 'Control hooks', panels: controls(m) },
    { title: 'Child agents', panels: children(m) },
    { title: 'Hooks and hookspan itself', panels: itself(m) },
  ]
}

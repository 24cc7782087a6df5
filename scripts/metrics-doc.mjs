// docs/metrics.md, generated from the instrument table.

import { CLOSED_LABELS, METRIC } from '../build/contract/semconv/index.js'
import { createPluginIn } from '../build/plugin/create-plugin.js'
import { INSTRUMENTS } from '../build/tracker/instrument-table.js'
import { code, generatedBy, table } from './markdown.mjs'

const INTRO = `# Metrics

\`hermes.\` is the configuration key \`namespace\`. The metrics that begin with \`gen_ai.\` need \`gen_ai\` among the \`conventions\`. Metrics are
**pushed** over OTLP, or **scraped** from hookspan's own endpoint (\`prometheus: {port: 9464}\`); see
[backends.md](backends.md#prometheus-and-grafana). Without either, they are not exported.
`

const NAMES = `In Prometheus, a pushed histogram in seconds or milliseconds has its unit as a suffix; a scraped one does not. Other names are the same. A
histogram is stored as \`_bucket\`, \`_sum\` and \`_count\`; dots in label names become underscores. The dashboard and the alerts in
\`observability/\` support both.
`

const LABELS_INTRO = `No label holds an id, a path, a command or user text. Of freely chosen names, the first 100 values of a label are
kept; the rest becomes \`other\`. An instrument has at most 2000 series; a counter adds the excess to one with \`overflow="true"\`.
`

const LABEL_VALUES = {
  kind: 'kind of the turn: `session`, `cron`, or a name of the host',
  final_status:
    '`completed`, `failed`, `interrupted`, `incomplete`; `timed_out`, `finalized`, `reset` if the host did not end the turn',
  tool_name: 'name of the tool',
  outcome: '`completed`, `error`, `timeout`, `blocked`, `cancelled`, or a custom status of the tool',
  model: 'requested model',
  provider: 'model provider, by its well-known name if it has one',
  part: 'source of the tokens: `own`, the agent’s own loop; `subagent`, child agents at any depth; `auxiliary`, side calls of the host. Each token is counted in one, as in the [totals of a turn](spans.md#totals)',
  agent: 'name of the agent, or `unknown`',
  error_type: 'type of the error, named by the host or the provider',
  status_class: '`1xx` … `5xx` of HTTP; `network` without an answer, `other`',
  retryable: '`true`, `false`, `unknown`',
  role: 'role of the child agent, or `none`',
  status: '`ok`, `error`',
  choice: '`once`, `session`, `always`, `smart_approve`, `deny`, `timeout`, …',
  pattern_key: 'rule that required the approval, or `none`',
  skill_name: 'name of the skill',
  source: '`skill_view`: loaded by that tool; `path_match`: detected from a path',
  hook_name: 'name of the guard',
  phase:
    'phase of the guard: `before_turn`, `after_turn`, `before_model`, `after_model`, `before_tool`, `after_tool`, or `unknown`',
  verdict: '`pass`, `block`, `rewrite`, `inject`, `retry`, `ask`, `failed`, or `unknown`',
  failure: '`threw`, `timed_out`, `nonsense`; absent on success',
  hook: 'name of the hook, or `unknown`',
  result:
    'of `hookspan.hooks`: `ok`, `ignored` (unknown, or nothing to end), `duplicate`, `error`; of `hookspan.export.spans`: `delivered`, `dropped`, `spooled` (deferred at least once), `retried` (each time). Do not add up the latter',
  reason:
    'of spans: `turn_ended`, `orphaned`, `superseded`, `shutdown`, `crashed`; of turns: `error`, `denied`, `slow`, `cost`, `tokens`, `tool`, `rate`, `none`',
  early: '`true` if the turn was sampled before its end because memory ran out, else `false`',
  backend: 'name of the backend; `local_log` is the trace log',
  'gen_ai.operation.name': '`chat`',
  'gen_ai.provider.name': 'as `provider`',
  'gen_ai.request.model': 'as `model`',
  'gen_ai.response.model': 'model that answered, else the requested one',
  'gen_ai.token.type': '`input`, `output`',
  'gen_ai.tool.name': 'as `tool_name`',
  'gen_ai.agent.name': 'name of the agent',
  'error.type': 'type of the error; absent on success',
}

const UNIT_WORDS = { s: 'seconds', ms: 'milliseconds', By: 'bytes' }

const named = key => METRIC[key].replace('{ns}', 'hermes')

/** The names of a scraped and of a pushed metric; one if they are equal. */
function prometheusName(key) {
  const { kind, unit } = INSTRUMENTS[key]
  const scraped = named(key).replaceAll('.', '_')
  const word = UNIT_WORDS[unit]
  const pushed = word && !scraped.endsWith(`_${word}`) ? `${scraped}_${word}` : scraped
  const suffix = kind === 'counter' ? '_total' : ''
  return [...new Set([scraped, pushed])].map(name => code(name + suffix)).join('<br>')
}

/** Names of the instruments that a plugin creates; a row of the table may have no instrument yet. */
function createdNames() {
  const names = new Set()
  const create = name => {
    names.add(name)
    return { addCallback: () => undefined, record: () => undefined }
  }
  const meter = new Proxy({}, { get: () => create })
  createPluginIn({ meterProvider: { getMeter: () => meter } }, { env: {}, home: '/nonexistent', isReplay: true })
  return names
}

function instrumentTable(keys, created) {
  const rows = keys.map(key => {
    const { kind, unit, labels, description, recorded } = INSTRUMENTS[key]
    const when = created.has(named(key)) ? recorded : 'not yet'
    return [
      code(named(key)),
      `${kind.replaceAll('_', '-')}, ${code(unit)}`,
      description,
      when,
      labels.map(code).join(', '),
      prometheusName(key),
    ]
  })
  return table(['instrument', 'kind, unit', 'meaning', 'recorded at', 'labels', 'in Prometheus'], rows)
}

function bucketTable(keys) {
  const byBuckets = new Map()
  for (const key of keys.filter(key => INSTRUMENTS[key].buckets !== undefined)) {
    const buckets = `${INSTRUMENTS[key].buckets.join(', ')} ${INSTRUMENTS[key].unit}`
    byBuckets.set(buckets, [...(byBuckets.get(buckets) ?? []), code(named(key))])
  }
  return table(
    ['upper bounds', 'instruments'],
    [...byBuckets].map(([buckets, names]) => [buckets, names.join(', ')]),
  )
}

function labelTable(keys) {
  const labels = [...new Set(keys.flatMap(key => INSTRUMENTS[key].labels))]
  const rows = labels.map(label => {
    const values = LABEL_VALUES[label]
    if (values === undefined) throw new Error(`scripts/metrics-doc.mjs has no description of the label ${label}`)
    return [code(label), values, CLOSED_LABELS.has(label) ? 'closed' : 'limited']
  })
  return table(['label', 'values', 'set of values'], rows)
}

/** The page, ending in a line break. */
export function metricsDoc() {
  const created = createdNames()
  const keys = Object.keys(METRIC)
  const those = start => keys.filter(key => METRIC[key].startsWith(start))
  return `${generatedBy('src/tracker/instrument-table.ts', 'scripts/metrics-doc.mjs')}

${INTRO}
## Agent

${instrumentTable(those('{ns}.'), created)}

## GenAI conventions

${instrumentTable(those('gen_ai.'), created)}

## hookspan itself

${instrumentTable(those('hookspan.'), created)}

${NAMES}
## Labels

${LABELS_INTRO}
${labelTable(keys)}

## Buckets

${bucketTable(keys)}
`
}

// docs/metrics.md, out of the instrument table.

import { CLOSED_LABELS, METRIC } from '../build/contract/semconv/index.js'
import { createPluginIn } from '../build/plugin/create-plugin.js'
import { INSTRUMENTS } from '../build/tracker/instrument-table.js'
import { code, generatedBy, table } from './markdown.mjs'

const INTRO = `# Metrics

\`hermes.\` is the \`namespace\`, a configuration key. Without \`gen_ai\` among the \`conventions\`, those that begin with \`gen_ai.\` are left out.
There are two ways out, both in [backends/local.md](backends/local.md#prometheus-and-grafana): **pushed** over OTLP, or **scraped** from
hookspan's own endpoint (\`prometheus: {port: 9464}\`). Without either they go nowhere.
`

const NAMES = `Which way a metric takes decides its name in Prometheus: what is pushed gets its unit behind its name, what is scraped
does not. Only histograms in seconds or milliseconds differ. A histogram is \`_bucket\`, \`_sum\` and \`_count\` there, and a dot
in the name of a label is an underscore. The dashboard and the alerts in \`observability/\` understand both.
`

const LABELS_INTRO = `No label holds an id, a path, a command or anything that a person wrote. Where agents may name things freely, the first
100 values of a label are kept apart and the rest becomes \`other\`. An instrument has at most 2000
series; a counter counts what is beyond them in one with \`overflow="true"\`.
`

const LABEL_VALUES = {
  kind: 'kind of the turn: `session`, `cron`, or what the host calls it',
  final_status:
    '`completed`, `failed`, `interrupted`, `incomplete`; `timed_out`, `finalized`, `reset` where the host did not end the turn',
  tool_name: 'name of the tool',
  outcome: '`completed`, `error`, `timeout`, `blocked`, `cancelled`, or a status of the tool’s own',
  model: 'model that was asked for',
  provider: 'model provider, by its well-known name where it has one',
  part: 'whose tokens: `own`, requests of the agent’s own loop; `subagent`, all of a child agent, at any depth; `auxiliary`, side calls of the host. Each token is in one of them, as in the [totals of a turn](spans.md#totals)',
  agent: 'name of the agent, or `unknown`',
  error_type: 'type of the error, as the host or the provider calls it',
  status_class: '`1xx` … `5xx` of HTTP; `network` when there was no answer, `other`',
  retryable: '`true`, `false`, `unknown`',
  role: 'role of the child agent, or `none`',
  status: '`ok`, `error`',
  choice: '`once`, `session`, `always`, `smart_approve`, `deny`, `timeout`, …',
  pattern_key: 'what the approval was about, or `none`',
  skill_name: 'name of the skill',
  source: '`skill_view`: loaded by that tool; `path_match`: a path said so',
  hook_name: 'name of the control hook',
  phase:
    'what the control hook looks at: `before_turn`, `after_turn`, `before_model`, `after_model`, `before_tool`, `after_tool`, or `unknown`',
  verdict: '`pass`, `block`, `rewrite`, `inject`, `retry`, `ask`, `failed`, or `unknown`',
  failure: '`threw`, `timed_out`, `nonsense`; absent where it did not fail',
  hook: 'name of the hook, or `unknown`',
  result:
    'of `hookspan.hooks`: `ok`, `ignored` (unknown, or nothing to end), `duplicate`, `error`; of `hookspan.export.spans`: `delivered`, `dropped`, `spooled` (kept for later, ever), `retried` (each time): not to be added up',
  reason:
    'of spans: `turn_ended`, `orphaned`, `superseded`, `shutdown`, `crashed`; of turns: `error`, `denied`, `slow`, `cost`, `tokens`, `tool`, `rate`, `none`',
  early: '`true` where there was no room to wait for the end of the turn, else `false`',
  backend: 'name of the backend; `local_log` is the trace log',
  'gen_ai.operation.name': '`chat`',
  'gen_ai.provider.name': 'as `provider`',
  'gen_ai.request.model': 'as `model`',
  'gen_ai.response.model': 'model that answered, else the one that was asked for',
  'gen_ai.token.type': '`input`, `output`',
  'gen_ai.tool.name': 'as `tool_name`',
  'gen_ai.agent.name': 'name of the agent',
  'error.type': 'type of the error; absent on what went well',
}

const UNIT_WORDS = { s: 'seconds', ms: 'milliseconds', By: 'bytes' }

const named = key => METRIC[key].replace('{ns}', 'hermes')

/** Both spellings, or the one that they share. */
function prometheusName(key) {
  const { kind, unit } = INSTRUMENTS[key]
  const scraped = named(key).replaceAll('.', '_')
  const word = UNIT_WORDS[unit]
  const pushed = word && !scraped.endsWith(`_${word}`) ? `${scraped}_${word}` : scraped
  const suffix = kind === 'counter' ? '_total' : ''
  return [...new Set([scraped, pushed])].map(name => code(name + suffix)).join('<br>')
}

/** What a plugin really makes; an instrument of the table may be one that nothing feeds yet. */
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
    const when = created.has(named(key)) ? recorded : 'nowhere yet'
    return [
      code(named(key)),
      `${kind.replaceAll('_', '-')}, ${code(unit)}`,
      description,
      when,
      labels.map(code).join(', '),
      prometheusName(key),
    ]
  })
  return table(['instrument', 'kind, unit', 'what', 'recorded at', 'labels', 'in Prometheus'], rows)
}

function bucketTable(keys) {
  const byBuckets = new Map()
  for (const key of keys.filter(key => INSTRUMENTS[key].buckets !== undefined)) {
    const buckets = `${INSTRUMENTS[key].buckets.join(', ')} ${INSTRUMENTS[key].unit}`
    byBuckets.set(buckets, [...(byBuckets.get(buckets) ?? []), code(named(key))])
  }
  return table(
    ['upper bounds', 'of'],
    [...byBuckets].map(([buckets, names]) => [buckets, names.join(', ')]),
  )
}

function labelTable(keys) {
  const labels = [...new Set(keys.flatMap(key => INSTRUMENTS[key].labels))]
  const rows = labels.map(label => {
    const values = LABEL_VALUES[label]
    if (values === undefined) throw new Error(`scripts/metrics-doc.mjs has no words for the label ${label}`)
    return [code(label), values, CLOSED_LABELS.has(label) ? 'closed' : 'limited']
  })
  return table(['label', 'values', 'how many'], rows)
}

/** The page, ending in a line break. */
export function metricsDoc() {
  const created = createdNames()
  const keys = Object.keys(METRIC)
  const those = start => keys.filter(key => METRIC[key].startsWith(start))
  return `${generatedBy('src/tracker/instrument-table.ts', 'scripts/metrics-doc.mjs')}

${INTRO}
## Of the agent

${instrumentTable(those('{ns}.'), created)}

## Of the GenAI conventions

${instrumentTable(those('gen_ai.'), created)}

## Of hookspan itself

${instrumentTable(those('hookspan.'), created)}

${NAMES}
## Labels

${LABELS_INTRO}
${labelTable(keys)}

## Buckets

${bucketTable(keys)}
`
}

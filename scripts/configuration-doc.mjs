// docs/configuration.md, out of the tables that the program itself reads.
import { BACKENDS } from '../build/delivery/backends/rows.js'
import { BACKEND_FIELDS } from '../build/plugin/config/backends.js'
import { HOOKS_FIELDS } from '../build/plugin/config/hooks-config.js'
import { KEEP_FIELDS } from '../build/plugin/config/keep.js'
import { KEY_NAMES, KEY_ROWS, variableOf } from '../build/plugin/config/keys.js'
import { PRICE_FIELDS } from '../build/plugin/config/prices.js'
import { aboutKey, defaultOf } from './declarations.mjs'
import { code, generatedBy, table } from './markdown.mjs'

const INTRO = `# Configuration

Without any configuration hookspan writes traces to a local log and sends nothing anywhere. Everything below is optional.

## Where values come from

Each source wins over those before it, key by key; the map \`resource_attributes\` is put together
entry by entry.

1. the defaults;
2. the file: the one that \`HOOKSPAN_CONFIG\` names, else \`$XDG_CONFIG_HOME/hookspan/config.yaml\` (that is
   \`~/.config/hookspan/config.yaml\`; \`config.yml\` and \`config.json\` are read, too);
3. the environment: OpenTelemetry's own variables, then \`HOOKSPAN_<KEY>\`;
4. options given in code.

The working directory is never looked at, and \`HOOKSPAN_CONFIG\` has to be an absolute path (\`~/\` is fine). An agent is
often started inside a repository that somebody else wrote; a file in there must not be able to send your prompts
to a place of its author's choice. For the same reason a backend whose address cannot be used is left out: it never
falls back to a default address.

\`hookspan config\` shows every value that is in force and where it came from; \`hookspan config --check\` fails when something
in the configuration is wrong. Anything wrong is one line on standard error, and the next lower source counts:

\`\`\`text
config: root_span_ttl_ms: expected a number ≥ 0, got "soon" (config.yaml line 7); using 600000
\`\`\`

What is set for privacy fails closed. Where \`content_capture\` says something that is none of its words, or its name is
misspelt (\`content_captrue\`), it is \`off\`, whatever a lower source says; so it is, unless a higher source says otherwise, when
there is a file that cannot be read or parsed. In the same way \`redact\` is on then, and \`capture_sender_id\` and
\`capture_conversation_history\` are off. Nothing else of a file that cannot be parsed counts. A blank value, in a file or in a variable, is the same as none.

## An example

\`\`\`yaml
content_capture: full
sample_rate: 0.25
resource_attributes:
  deployment.environment.name: \${STAGE:-development}
backends:
  - type: phoenix
  - type: otlp
    endpoint: https://collector.example.com
    headers:
      authorization: Bearer \${COLLECTOR_TOKEN}
\`\`\`

YAML 1.2, or JSON. \`\${NAME}\` and \`\${NAME:-default}\` in any text stand for an environment variable, \`$\${\` for the characters
themselves. A variable that is not set is reported, and what needed it is left out.
`

function keyTable() {
  const rows = KEY_NAMES.map(key => [
    code(key),
    defaultOf(KEY_ROWS[key]),
    code(variableOf(key)),
    aboutKey(KEY_ROWS[key]),
  ])
  return table(['key', 'default', 'environment', 'meaning'], rows)
}

const OTEL_NOTES = {
  OTEL_SDK_DISABLED: '`true` switches off',
  OTEL_RESOURCE_ATTRIBUTES: '`name=value,…`, percent-encoded; `service.name` in it is the name of the service',
  OTEL_TRACES_SAMPLER:
    '`always_on`, `always_off`, `traceidratio`, and the same with `parentbased_`; always parent-based here',
  OTEL_TRACES_SAMPLER_ARG: 'the ratio',
  OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: 'caps what the defaults and the file say',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT:
    '`true`, `SPAN_ONLY`, `SPAN_AND_EVENT`: full; `false`, `NO_CONTENT`, `EVENT_ONLY`: off',
  OTEL_METRICS_EXPORTER: '`prometheus` among them switches it on',
  'OTEL_{TRACES,METRICS,LOGS}_EXPORTER': '`otlp`, `none`; for traces also `console`',
}

function otelTable() {
  const fed = new Map()
  for (const key of KEY_NAMES) {
    for (const name of KEY_ROWS[key].otel ?? []) fed.set(name, [...(fed.get(name) ?? []), code(key)])
  }
  const rows = [...fed].map(([name, keys]) => [code(name), keys.join(', '), OTEL_NOTES[name] ?? ''])
  return table(['variable', 'key', 'how it is read'], rows)
}

function fieldTable(fields) {
  return table(
    ['field', 'meaning'],
    Object.entries(fields).map(([field, about]) => [code(field), about]),
  )
}

function defaultEndpoint({ endpoint, options }) {
  const defaults = Object.fromEntries(Object.entries(options).map(([field, option]) => [field, option.default]))
  const url = endpoint(defaults)
  return url === undefined ? '' : code(url)
}

function ownField([field, { about, default: value, required }]) {
  const notes = [required ? 'required' : undefined, value === undefined ? undefined : `default ${code(value)}`]
  const extra = notes.filter(note => note !== undefined).join(', ')
  return `${code(field)}: ${about}${extra ? ` (${extra})` : ''}`
}

function typeTable() {
  const rows = Object.entries(BACKENDS).map(([type, row]) => {
    const signals = [
      row.traces ? 'traces' : undefined,
      row.metrics ? 'metrics' : undefined,
      row.logs ? 'logs' : undefined,
    ]
    return [
      code(type),
      [row.about, row.note]
        .filter(text => text !== undefined)
        .join('. ')
        .replaceAll('<', '&lt;'),
      row.transport === 'http' ? defaultEndpoint(row) : '',
      row.transport === 'http' ? `${code(row.protocol)}${row.onlyProtocol ? ' only' : ''}` : '',
      signals.filter(signal => signal !== undefined).join(', '),
      Object.entries(row.options).map(ownField).join('<br>'),
    ]
  })
  return table(['type', 'is', 'default endpoint', 'protocol', 'takes', 'fields of its own'], rows)
}

/** The page, ending in a line break. */
export function configurationDoc() {
  return `${generatedBy('src/plugin/config/keys.ts', 'scripts/configuration-doc.mjs')}

${INTRO}
## Keys

Durations are milliseconds (\`_ms\`). In a variable a list is separated by commas (\`redact_patterns\`: by line breaks), a map
is \`name=value,…\`, and backends are written in short, such as \`HOOKSPAN_BACKENDS=console,phoenix=http://127.0.0.1:6006\`.

${keyTable()}

## Backends

\`backends\` is a list. Each entry has a \`type\`, and whatever of these fields is to differ from what the type prefers:

${fieldTable(BACKEND_FIELDS)}

Every field can be named with \`_env\` instead: \`api_key_env: PHOENIX_API_KEY\` reads \`api_key\` from that variable, so that
the file holds no secret. Credentials inside an address (\`https://user:password@…\`) become a header. An entry can also be
written in short: \`console\`, \`file=/tmp/spans.jsonl\`, \`phoenix=http://127.0.0.1:6006\`, or an address alone for \`otlp\`.

${typeTable()}

## Hooks

[Hooks that act](hook-folders.md), from files. \`false\` loads none, a path alone is \`global_dir\`, and a mapping has these fields:

${fieldTable(HOOKS_FIELDS)}

\`\`\`yaml
hooks:
  project_local: true
  options:
    no-rm:
      required: true
      isolate: true
      allow: [build, dist]
\`\`\`

\`isolate: true\` runs a file in a thread of its own; \`required: true\` blocks everything as long as the file is not loaded. What else is there
the file is handed: texts, lists and mappings; a text that is a number, \`true\` or \`false\` becomes that. Of two sources the
later one counts whole.

## Prices

[What requests cost](cost.md), where the agent does not say. \`true\` takes the list of known models. A mapping puts prices of your own
before it: of \`model\` or \`provider/model\`, with \`*\` for any characters, each 0 or a mapping of these fields:

${fieldTable(PRICE_FIELDS)}

\`\`\`yaml
prices:
  ollama/*: 0
  openai/*:
    service_tiers: { batch: 0.5 }
\`\`\`

Of two sources the later one counts whole.

## Turns worth keeping

[Which turns are sent to the backends](sampling.md), once they are over; the local log has them all. A mapping of these fields:

${fieldTable(KEEP_FIELDS)}

\`\`\`yaml
keep:
  denied: true
  slower_than_ms: 60000
  cost_over: 0.5
  tools: [terminal]
  rate: 0.05
\`\`\`

## OpenTelemetry's variables

They win over the file, and \`HOOKSPAN_<KEY>\` wins over them.

${otelTable()}

Where no \`backends\` are configured at all, \`OTEL_EXPORTER_OTLP_ENDPOINT\` (or that of a signal) makes one backend \`otlp\`, with its
headers, timeout, compression, protocol, certificate, client certificate and its key. To the general address \`/v1/traces\`, \`/v1/metrics\` or \`/v1/logs\` is
appended where it is missing; that of a signal is used as it is. Where those of metrics differ from those of traces, there is a second
one, \`otlp-metrics\`. Logs are sent only where \`OTEL_LOGS_EXPORTER=otlp\` or \`OTEL_EXPORTER_OTLP_LOGS_ENDPOINT\` asks for them, by
\`otlp-logs\` where they travel differently. \`OTEL_TRACES_EXPORTER=console\` adds a backend \`console\`; \`none\` switches a signal off. An empty list,
\`backends: []\`, keeps these variables from sending anything anywhere.
`
}

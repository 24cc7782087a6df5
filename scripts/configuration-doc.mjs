// docs/configuration.md, generated from the tables that the program reads.
import { BACKENDS } from '../build/delivery/backends/rows.js'
import { BACKEND_FIELDS } from '../build/plugin/config/backends.js'
import { HOOKS_FIELDS } from '../build/plugin/config/hooks.js'
import { KEEP_FIELDS } from '../build/plugin/config/keep.js'
import { KEY_NAMES, KEY_ROWS, variableOf } from '../build/plugin/config/keys.js'
import { PRICE_FIELDS } from '../build/plugin/config/prices.js'
import { aboutKey, defaultOf } from './declarations.mjs'
import { code, generatedBy, table } from './markdown.mjs'

const INTRO = `# Configuration

Everything is optional. Without a configuration, hookspan writes traces to a local log and sends nothing.

## Sources

Later sources override earlier ones, key by key; the map \`resource_attributes\` is merged entry by entry.

1. the defaults;
2. the file: \`HOOKSPAN_CONFIG\`, else \`$XDG_CONFIG_HOME/hookspan/config.yaml\` (\`~/.config/hookspan/config.yaml\`; \`config.yml\` and
   \`config.json\` work, too);
3. the environment: OpenTelemetry's own variables, then \`HOOKSPAN_<KEY>\`;
4. options in code.

**The working directory is never read**, and \`HOOKSPAN_CONFIG\` must be an absolute path (\`~/\` is allowed). Agents often start inside a
repository by another author; a file in it must not be able to send your prompts to that author's server. For the same reason, a backend
with an invalid address is dropped and never falls back to a default address.

Run \`hookspan config --init\` to get a commented file in the usual place. Its first line names [a JSON schema](config.schema.json), with
which editors (those with a YAML language server) complete keys and mark mistakes. Run \`hookspan config\` to see every value in force and
its source. \`hookspan config --check\` fails if the configuration has an error, or a backend lacks a field. Each error is one line on
standard error, and the next lower source applies:

\`\`\`text
config: root_span_ttl_ms: expected a number ≥ 0, got "soon" (config.yaml line 7); using 600000
\`\`\`

**Privacy settings fail closed.** An invalid value of \`content_capture\`, or a misspelt key (\`content_captrue\`), means \`off\`, whatever a lower
source sets. So does a file that cannot be read or parsed, unless a higher source sets the key. In the same cases \`redact\` is on, and
\`capture_sender_id\` and \`capture_conversation_history\` are off. No other part of an unparsable file applies. A blank value, in a file or in
a variable, means not set.

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

The format is YAML 1.2 or JSON. In any text, \`\${NAME}\` and \`\${NAME:-default}\` insert an environment variable, and \`$\${\` is a literal
\`\${\`. An unset variable is reported, and the value that needs it is dropped.
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
  OTEL_SDK_DISABLED: '`true` disables hookspan',
  OTEL_RESOURCE_ATTRIBUTES: '`name=value,…`, percent-encoded; its `service.name` is the service name',
  OTEL_TRACES_SAMPLER: '`always_on`, `always_off`, `traceidratio`, also with `parentbased_`; always parent-based here',
  OTEL_TRACES_SAMPLER_ARG: 'the ratio',
  OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: 'upper limit of the defaults and the file',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT:
    '`true`, `SPAN_ONLY`, `SPAN_AND_EVENT`: full; `false`, `NO_CONTENT`, `EVENT_ONLY`: off',
  OTEL_METRICS_EXPORTER: 'a list with `prometheus` enables it',
  'OTEL_{TRACES,METRICS,LOGS}_EXPORTER': '`otlp`, `none`; for traces also `console`',
}

function otelTable() {
  const fed = new Map()
  for (const key of KEY_NAMES) {
    for (const name of KEY_ROWS[key].otel ?? []) fed.set(name, [...(fed.get(name) ?? []), code(key)])
  }
  const rows = [...fed].map(([name, keys]) => [code(name), keys.join(', '), OTEL_NOTES[name] ?? ''])
  return table(['variable', 'key', 'values'], rows)
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

function ownField([field, { about, default: value, required, variables = [] }]) {
  const notes = [
    required ? 'required' : undefined,
    value === undefined ? undefined : `default ${code(value)}`,
    variables.length === 0 ? undefined : `else ${variables.map(code).join(' or ')}`,
  ]
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
  return table(['type', 'backend', 'default endpoint', 'protocol', 'signals', 'own fields'], rows)
}

/** The page, ending in a line break. */
export function configurationDoc() {
  return `${generatedBy('src/plugin/config/keys.ts', 'scripts/configuration-doc.mjs')}

${INTRO}
## Keys

Durations are in milliseconds (\`_ms\`). In a variable, separate a list by commas (\`redact_patterns\`: by line breaks), write a map as
\`name=value,…\`, and backends in short form: \`HOOKSPAN_BACKENDS=console,phoenix=http://127.0.0.1:6006\`.

${keyTable()}

## Backends

\`backends\` is a list. Each entry has a \`type\`, and any of these fields to override the defaults of that type:

${fieldTable(BACKEND_FIELDS)}

A field with a variable after "else" is read from that variable, which the vendor's own SDKs read, if it is absent. Any field also works
with the suffix \`_env\`: \`api_key_env: PHOENIX_API_KEY\` reads \`api_key\` from that variable, which keeps the secret out of
the file. Credentials in an address (\`https://user:password@…\`) become a header. Short forms of an entry are \`console\`,
\`file=/tmp/spans.jsonl\`, \`phoenix=http://127.0.0.1:6006\`, or an address alone for \`otlp\`.

${typeTable()}

### Credentials that expire

\`headers_command\` is a program and its arguments. It prints a token, which is sent in the header \`authorization\`, or a JSON object of
headers, which override the others:

\`\`\`yaml
backends:
  - type: otlp
    endpoint: https://telemetry.example.com
    headers_command: [gcloud, auth, print-access-token]
\`\`\`

It runs without a shell and in your home directory, so name it by an absolute path (\`~/\` is allowed) or as a program of the \`PATH\`. hookspan
runs it when it sends, uses its output for five minutes, and runs it again after a 401 or 403. After ten seconds, or after
\`timeout_ms\` if that is less, it counts as failed. A failure is reported in one line; the spans stay in the trace log and are sent later.
Neither the output nor the arguments appear in a message, a log or \`hookspan config\`. On Windows, name an \`.exe\`: other programs need a
shell.

## Hooks

[Guards](guards.md) from folders. \`false\` loads none, a path is \`global_dir\`, and a mapping has these fields:

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

\`isolate: true\` runs a file in its own thread; \`required: true\` blocks every turn and tool until the file is loaded. All other entries are
passed to the file as texts, lists and mappings; a text that is a number, \`true\` or \`false\` is converted. A later source replaces the whole
value.

## Prices

[Prices of requests](cost.md) for which the agent reports no cost. \`true\` uses the list of known models. A mapping puts your own prices
first: keys are \`model\` or \`provider/model\`, with \`*\` for any characters; values are 0 or a mapping of these fields:

${fieldTable(PRICE_FIELDS)}

\`\`\`yaml
prices:
  ollama/*: 0
  openai/*:
    service_tiers: { batch: 0.5 }
\`\`\`

A later source replaces the whole value.

## Tail sampling

\`keep\` selects the turns [to send to the backends](sampling.md), at their end; the local log has all of them. A mapping of these fields:

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

They override the file, and \`HOOKSPAN_<KEY>\` overrides them.

${otelTable()}

Without \`backends\`, \`OTEL_EXPORTER_OTLP_ENDPOINT\` (or that of a signal) creates a backend \`otlp\` with its headers, timeout, compression,
protocol, certificate, client certificate and key.

- \`/v1/traces\`, \`/v1/metrics\` or \`/v1/logs\` is appended to the general address if missing; the address of a signal is used as it is.
- If the variables of metrics differ from those of traces, a second backend \`otlp-metrics\` is created.
- Logs are sent only with \`OTEL_LOGS_EXPORTER=otlp\` or \`OTEL_EXPORTER_OTLP_LOGS_ENDPOINT\`, by \`otlp-logs\` if their variables differ.
- \`OTEL_TRACES_EXPORTER=console\` adds a backend \`console\`; \`none\` turns a signal off.
- An empty list, \`backends: []\`, makes these variables send nothing.
`
}

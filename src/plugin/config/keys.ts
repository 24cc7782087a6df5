/**
 * Every configuration key, one row each. The types, the environment variables, the validation, `hookspan config` and
 * `docs/configuration.md` all derive from these rows.
 */
const KEYS = {
  enabled: { type: 'bool', default: true, about: 'Record traces and metrics', otel: ['OTEL_SDK_DISABLED'] },
  backends: {
    type: 'backends',
    default: [],
    about: 'Where to send traces and metrics. None: local trace log only, nothing leaves the machine',
    otel: [
      'OTEL_EXPORTER_OTLP_{,TRACES_,METRICS_,LOGS_}{ENDPOINT,HEADERS,TIMEOUT,COMPRESSION,PROTOCOL,CERTIFICATE,CLIENT_CERTIFICATE,CLIENT_KEY}',
      'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
      'OTEL_{TRACES,METRICS,LOGS}_EXPORTER',
    ],
  },

  local_log: { type: 'bool', default: true, about: 'Write traces to `$XDG_STATE_HOME/hookspan`' },
  local_log_max_bytes: {
    type: 'integer',
    default: 268_435_456,
    about: 'Maximum size of the local trace log; the oldest part is removed first',
  },
  local_log_max_age_hours: { type: 'number', default: 168, about: 'Maximum age of a part of the local trace log' },
  log_flush_ms: {
    type: 'millis',
    default: 100,
    about: 'Maximum time from recording to writing to the local trace log',
  },

  service_name: {
    type: 'text',
    default: 'hookspan',
    fromHost: true,
    about: '`service.name` of the resource',
    otel: ['OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'],
  },
  project_name: {
    type: 'text',
    about: '`openinference.project.name`: the project in Phoenix',
    otel: ['OTEL_PROJECT_NAME'],
  },
  agent_name: { type: 'text', fromHost: true, about: '`gen_ai.agent.name` of the turns' },
  resource_attributes: {
    type: 'map',
    default: {},
    about: 'Additional resource attributes',
    otel: ['OTEL_RESOURCE_ATTRIBUTES'],
  },

  namespace: {
    type: 'text',
    pattern: 'namespace',
    default: 'hermes',
    about: "Prefix of hookspan's own attributes and metrics",
  },
  conventions: {
    type: 'list',
    values: ['own', 'gen_ai', 'gen_ai_next', 'openinference', 'langfuse'],
    default: ['own', 'gen_ai', 'openinference'],
    about:
      'Sets of names, side by side; a backend `langfuse` adds its own, `gen_ai_next` what OpenTelemetry has not released',
  },
  span_names: { type: 'enum', values: ['hermes', 'semconv'], default: 'hermes', about: 'Naming scheme of spans' },
  sample_rate: {
    type: 'number',
    max: 1,
    about: 'Fraction of traces to record, parent-based. Not set: all',
    otel: ['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'],
  },

  content_capture: {
    type: 'enum',
    values: ['off', 'preview', 'full'],
    default: 'preview',
    closed: 'off',
    about: 'Content of prompts, arguments and results: none, truncated one-line previews, or whole values',
    otel: ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'],
  },
  preview_max_chars: { type: 'chars', default: 1200, about: 'Maximum length of a preview' },
  content_max_chars: {
    type: 'chars',
    // Honeycomb cuts longer values, JSON or not.
    default: 65_535,
    about: 'Maximum size of one value with `content_capture: full`, in bytes of UTF-8',
  },
  capture_conversation_history: {
    type: 'bool',
    default: false,
    closed: false,
    about: 'Record the whole history, up to 20 000 characters, as input of the llm span',
  },
  capture_sender_id: {
    type: 'bool',
    default: false,
    closed: false,
    about: 'Record the sender of a message: `user.id`',
  },
  workspace_capture: {
    type: 'enum',
    values: ['off', 'name', 'path'],
    default: 'name',
    closed: 'off',
    about: 'Working directory of a turn: its name, or the whole path. `off`: neither it nor repository and branch',
  },
  redact: {
    type: 'bool',
    default: true,
    closed: true,
    about: 'Mask secrets in every attribute, event and description',
  },
  redact_patterns: {
    type: 'list',
    private: true,
    separator: '\n',
    default: [],
    about: 'Additional regular expressions to mask',
  },

  root_span_ttl_ms: { type: 'millis', default: 600_000, about: 'End a turn after this time without a record' },
  open_work_ttl_ms: {
    type: 'millis',
    default: 86_400_000,
    about: 'The same for a turn with an open tool, approval, request or child agent; at least `root_span_ttl_ms`',
  },
  delegating_tools: { type: 'list', default: [], about: 'Additional tools that start a child agent' },
  parent: {
    type: 'enum',
    values: ['link', 'nest', 'active'],
    default: 'link',
    about: 'Link a turn to its caller (`traceparent`), or make it a child; `active`: also a child of the active span',
  },
  propagate_context: {
    type: 'bool',
    default: true,
    about: 'Pass the trace context (`traceparent`) to model requests and tool processes, if the host supports it',
  },
  force_flush_on_session_end: {
    type: 'bool',
    default: true,
    about: 'Flush all backends at the end of a turn; at its answer if the host emits no session hooks',
  },
  force_flush_wait_ms: {
    type: 'millis',
    default: 1500,
    about: 'Maximum time that a host which awaits its hooks waits for that flush',
  },
  metrics_interval_ms: {
    type: 'millis',
    min: 1,
    default: 60_000,
    about: 'Interval between metric pushes',
    otel: ['OTEL_METRIC_EXPORT_INTERVAL'],
  },
  prometheus: {
    type: 'prometheus',
    about: 'Serve metrics for Prometheus: `true`, or `{host, port}`',
    otel: ['OTEL_METRICS_EXPORTER', 'OTEL_EXPORTER_PROMETHEUS_HOST', 'OTEL_EXPORTER_PROMETHEUS_PORT'],
  },
  span_batch_max_queue_size: {
    type: 'integer',
    default: 2048,
    about: 'Maximum spans in memory for one backend',
    otel: ['OTEL_BSP_MAX_QUEUE_SIZE'],
  },
  span_batch_schedule_delay_ms: {
    type: 'millis',
    default: 1000,
    about: 'Maximum time that a span waits for its batch to fill',
    otel: ['OTEL_BSP_SCHEDULE_DELAY'],
  },
  span_batch_max_export_batch_size: {
    type: 'integer',
    default: 512,
    about: 'Maximum spans in one request',
    otel: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
  },
  span_batch_export_timeout_ms: {
    type: 'millis',
    default: 10_000,
    about: 'Time limit of a request, retries included, for a backend without `timeout_ms`',
    otel: ['OTEL_BSP_EXPORT_TIMEOUT'],
  },

  prices: {
    type: 'prices',
    about:
      'Prices of requests for which the agent reports no cost: `true` (a list of known models), or a mapping of models to prices',
  },

  keep: {
    type: 'keep',
    about:
      'Tail sampling, which selects the turns to send at their end: `true` (turns with errors), or a mapping of rules',
  },

  hooks: {
    type: 'hooks',
    about: 'Guards from folders: `{global_dir, project_local, time_limit_ms, options}`, a folder, or `false`',
  },
  deterministic_ids: {
    type: 'bool',
    default: false,
    about: 'Derive trace and span ids from host, session, turn and key, so that a replay gives the same ids',
  },
  handle_signals: {
    type: 'bool',
    default: false,
    about: 'Flush on SIGINT and SIGTERM, then raise them again unless the host handles them',
  },
  debug: { type: 'bool', default: false, about: 'Write a debug log to the state directory' },
} as const

export type KeyTable = typeof KEYS
/** The name of a key. */
export type KeyName = keyof KeyTable

export interface KeyRow {
  readonly type: KeyTable[KeyName]['type']
  /** Absent = not set. The meaning of that is described in `about`, or given by `fromHost`. */
  readonly default?: unknown
  /** The value if the configured one is unusable, instead of the next lower source: privacy fails closed. */
  readonly closed?: unknown
  readonly about: string
  readonly fromHost?: boolean
  readonly min?: number
  readonly max?: number
  readonly values?: readonly string[]
  readonly pattern?: 'namespace'
  readonly separator?: string
  /** If true, the value is never shown: it may contain a secret. */
  readonly private?: boolean
  /** OpenTelemetry variables that provide the value. `HOOKSPAN_<KEY>` wins over them. */
  readonly otel?: readonly string[]
}

const OF_TYPE: { readonly [Type in KeyRow['type']]?: Partial<KeyRow> } = {
  number: { min: 0 },
  integer: { min: 1 },
  millis: { min: 0 },
  chars: { min: 1, otel: ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'] },
}

export const KEY_NAMES: readonly KeyName[] = Object.keys(KEYS) as KeyName[]
export const KEY_ROWS: Readonly<Record<KeyName, KeyRow>> = Object.fromEntries(
  Object.entries<KeyRow>(KEYS).map(([key, row]) => [key, { ...OF_TYPE[row.type], ...row }]),
) as Record<KeyName, KeyRow>

export function variableOf(key: KeyName): string {
  return `HOOKSPAN_${key.toUpperCase()}`
}

export function isKeyName(name: string): name is KeyName {
  return Object.hasOwn(KEYS, name)
}

/** The longest silence of a turn with open work, and thus the time within which another process may continue it. */
export function openWorkTtlMillisOf(config: Readonly<Record<'root_span_ttl_ms' | 'open_work_ttl_ms', number>>): number {
  return Math.max(config.root_span_ttl_ms, config.open_work_ttl_ms)
}

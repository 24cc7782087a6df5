/**
 * Every key that can be configured, one row each. The types, the environment variables, the validation, `hookspan
 * config` and `docs/configuration.md` all come from these rows.
 */
declare const KEYS: {
    readonly enabled: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'Off: nothing is recorded';
        readonly otel: readonly ['OTEL_SDK_DISABLED'];
    };
    readonly backends: {
        readonly type: 'backends';
        readonly default: readonly [];
        readonly about: 'Where traces and metrics are sent; none: the local trace log only, nothing leaves the machine';
        readonly otel: readonly ['OTEL_EXPORTER_OTLP_{,TRACES_,METRICS_,LOGS_}{ENDPOINT,HEADERS,TIMEOUT,COMPRESSION,PROTOCOL,CERTIFICATE}', 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'OTEL_{TRACES,METRICS,LOGS}_EXPORTER'];
    };
    readonly local_log: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'Write traces to `$XDG_STATE_HOME/hookspan`';
    };
    readonly local_log_max_bytes: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 268435456;
        readonly about: 'Size of the local trace log above which its oldest part goes';
    };
    readonly local_log_max_age_hours: {
        readonly type: 'number';
        readonly min: 0;
        readonly default: 168;
        readonly about: 'Age above which a part of the local trace log goes';
    };
    readonly log_flush_ms: {
        readonly type: 'millis';
        readonly min: 0;
        readonly default: 100;
        readonly about: 'Longest time that something recorded stays in memory before it is in the local trace log';
    };
    readonly service_name: {
        readonly type: 'text';
        readonly default: 'hookspan';
        readonly fromHost: true;
        readonly about: '`service.name` of the resource';
        readonly otel: readonly ['OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'];
    };
    readonly project_name: {
        readonly type: 'text';
        readonly default: undefined;
        readonly about: '`openinference.project.name`: the project that Phoenix files the traces under';
        readonly otel: readonly ['OTEL_PROJECT_NAME'];
    };
    readonly agent_name: {
        readonly type: 'text';
        readonly default: undefined;
        readonly fromHost: true;
        readonly about: '`gen_ai.agent.name` of the turns';
    };
    readonly resource_attributes: {
        readonly type: 'map';
        readonly default: {};
        readonly about: 'Further resource attributes';
        readonly otel: readonly ['OTEL_RESOURCE_ATTRIBUTES'];
    };
    readonly global_tags: {
        readonly type: 'map';
        readonly default: {};
        readonly about: 'Resource attributes too; `resource_attributes` win over them';
    };
    readonly namespace: {
        readonly type: 'text';
        readonly pattern: 'namespace';
        readonly default: 'hermes';
        readonly about: 'First part of the names of our own attributes and metrics';
    };
    readonly conventions: {
        readonly type: 'list';
        readonly values: readonly ['own', 'gen_ai', 'openinference'];
        readonly default: readonly ['own', 'gen_ai', 'openinference'];
        readonly about: 'Sets of attribute names that are written side by side';
    };
    readonly span_names: {
        readonly type: 'enum';
        readonly values: readonly ['hermes', 'semconv'];
        readonly default: 'hermes';
        readonly about: 'How spans are named';
    };
    readonly span_status_ok: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'Status OK on what went well; off: UNSET';
    };
    readonly usage_on_root: {
        readonly type: 'bool';
        readonly default: false;
        readonly about: 'Repeat the token sums of a turn on its root';
    };
    readonly trace_scope: {
        readonly type: 'enum';
        readonly values: readonly ['turn', 'session'];
        readonly default: 'turn';
        readonly about: 'What one trace holds';
    };
    readonly sample_rate: {
        readonly type: 'number';
        readonly min: 0;
        readonly max: 1;
        readonly default: undefined;
        readonly about: 'Share of traces that are recorded, parent-based; not set: all';
        readonly otel: readonly ['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'];
    };
    readonly content_capture: {
        readonly type: 'enum';
        readonly values: readonly ['off', 'preview', 'full'];
        readonly default: 'preview';
        readonly about: 'Prompts, arguments, results: none at all, clipped one-line previews, or whole values';
        readonly otel: readonly ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'];
    };
    readonly preview_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 1200;
        readonly about: 'Length of a preview';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly tool_input_preview_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: undefined;
        readonly follows: 'preview_max_chars';
        readonly about: 'The same, for arguments of tools';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly tool_output_preview_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: undefined;
        readonly follows: 'preview_max_chars';
        readonly about: 'The same, for results of tools';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly llm_input_preview_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: undefined;
        readonly follows: 'preview_max_chars';
        readonly about: 'The same, for what a model is sent';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly llm_output_preview_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: undefined;
        readonly follows: 'preview_max_chars';
        readonly about: 'The same, for what a model answers';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly content_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 65536;
        readonly about: 'Length of one value with `content_capture: full`';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly capture_conversation_history: {
        readonly type: 'bool';
        readonly default: false;
        readonly about: 'The whole history as input of the llm span';
    };
    readonly conversation_history_max_chars: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 20000;
        readonly about: 'Length of that history';
        readonly otel: readonly ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    };
    readonly capture_sender_id: {
        readonly type: 'bool';
        readonly default: false;
        readonly about: 'Who wrote to the agent: `user.id`';
    };
    readonly redact: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'Mask secrets in every attribute, event and description';
    };
    readonly redact_patterns: {
        readonly type: 'list';
        readonly private: true;
        readonly separator: '\n';
        readonly default: readonly [];
        readonly about: 'Further regular expressions whose matches are masked';
    };
    readonly root_span_ttl_ms: {
        readonly type: 'millis';
        readonly min: 0;
        readonly default: 600000;
        readonly about: 'A turn without a record for so long is over';
    };
    readonly delegating_tools: {
        readonly type: 'list';
        readonly default: readonly [];
        readonly about: 'Further names of tools that start a child agent';
    };
    readonly delegation: {
        readonly type: 'enum';
        readonly values: readonly ['link', 'nest'];
        readonly default: 'link';
        readonly about: 'A child agent whose parent is known only as a remote context is linked to it, or nested under it';
    };
    readonly force_flush_on_session_end: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'Flush all backends when a turn ends';
    };
    readonly force_flush_wait_ms: {
        readonly type: 'millis';
        readonly min: 0;
        readonly default: 1500;
        readonly about: 'Longest time that a host which awaits its hooks waits for that flush';
    };
    readonly skill_spans: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'A span for each skill that a turn loads';
    };
    readonly emit_genai_metrics: {
        readonly type: 'bool';
        readonly default: true;
        readonly about: 'The `gen_ai.*` metrics beside our own';
    };
    readonly metrics_label_limit: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 100;
        readonly about: 'Values of an open-ended metric label that are kept apart; the rest become `other`';
    };
    readonly metrics_interval_ms: {
        readonly type: 'millis';
        readonly min: 1;
        readonly default: 60000;
        readonly about: 'How often metrics are pushed';
        readonly otel: readonly ['OTEL_METRIC_EXPORT_INTERVAL'];
    };
    readonly prometheus: {
        readonly type: 'prometheus';
        readonly default: undefined;
        readonly about: 'Serve metrics for Prometheus: `true`, or `{host, port}`';
        readonly otel: readonly ['OTEL_METRICS_EXPORTER', 'OTEL_EXPORTER_PROMETHEUS_HOST', 'OTEL_EXPORTER_PROMETHEUS_PORT'];
    };
    readonly span_batch_max_queue_size: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 2048;
        readonly about: 'Spans that wait for a backend in memory';
        readonly otel: readonly ['OTEL_BSP_MAX_QUEUE_SIZE'];
    };
    readonly span_batch_schedule_delay_ms: {
        readonly type: 'millis';
        readonly min: 0;
        readonly default: 1000;
        readonly about: 'Longest time that a span waits for its batch to fill';
        readonly otel: readonly ['OTEL_BSP_SCHEDULE_DELAY'];
    };
    readonly span_batch_max_export_batch_size: {
        readonly type: 'integer';
        readonly min: 1;
        readonly default: 128;
        readonly about: 'Spans in one request';
        readonly otel: readonly ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'];
    };
    readonly span_batch_export_timeout_ms: {
        readonly type: 'millis';
        readonly min: 0;
        readonly default: 10000;
        readonly about: 'Longest time that one request may take, retries included';
        readonly otel: readonly ['OTEL_BSP_EXPORT_TIMEOUT'];
    };
    readonly deterministic_ids: {
        readonly type: 'bool';
        readonly default: false;
        readonly about: 'Trace and span ids derived from host, session, turn and key: a replay gives the same ids';
    };
    readonly handle_signals: {
        readonly type: 'bool';
        readonly default: false;
        readonly about: 'Flush on SIGINT and SIGTERM, then raise them again';
    };
    readonly debug: {
        readonly type: 'bool';
        readonly default: false;
        readonly about: 'Write a debug log to the state directory';
    };
};
/** The rows with their literal types: the types of the configuration are derived from them. */
export type KeyTable = typeof KEYS;
export type KeyName = keyof KeyTable;
/** A key's row, seen without its literal types. */
export interface KeyRow {
    readonly type: 'bool' | 'number' | 'integer' | 'millis' | 'text' | 'enum' | 'list' | 'map' | 'backends' | 'prometheus';
    /** Undefined = not set; what that means is in `about`, or in `fromHost` and `follows`. */
    readonly default: unknown;
    /** One line, for people. */
    readonly about: string;
    /** The default is the name of the host where there is one. */
    readonly fromHost?: boolean;
    /** Without a value of its own it takes that key's. */
    readonly follows?: KeyName;
    /** Of a number, inclusive. */
    readonly min?: number;
    readonly max?: number;
    /** Closed vocabulary of an `enum`, or of the elements of a `list`. */
    readonly values?: readonly string[];
    readonly pattern?: 'namespace';
    /** Between the elements of a `list` that is written as one text; a comma where absent. */
    readonly separator?: string;
    /** Its value is never shown: it may hold somebody's secret. */
    readonly private?: boolean;
    /** OpenTelemetry's own variables that feed it; `HOOKSPAN_<KEY>` wins over them. */
    readonly otel?: readonly string[];
}
export declare const KEY_ROWS: Readonly<Record<KeyName, KeyRow>>;
export declare const KEY_NAMES: readonly KeyName[];
/** The environment variable of a key. */
export declare function variableOf(key: KeyName): string;
export declare function isKeyName(name: string): name is KeyName;
export {};

// Generated from src/config/keys.ts by scripts/user-config.mjs; do not edit. npm run docs writes it.
import type { UserValue } from './types.ts'

/**
 * What may be written in code: any of the keys, in the spelling of the file. Durations are milliseconds (`_ms`). A value
 * that cannot be used is reported and ignored, never thrown.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export interface UserConfig {
  /** Off: nothing is recorded. Default: `true`. Environment: `HOOKSPAN_ENABLED` */
  readonly enabled?: UserValue<'enabled'> | undefined
  /** Where traces and metrics are sent; none: the local trace log only, nothing leaves the machine. Default: none. Environment: `HOOKSPAN_BACKENDS` */
  readonly backends?: UserValue<'backends'> | undefined
  /** Write traces to `$XDG_STATE_HOME/hookspan`. Default: `true`. Environment: `HOOKSPAN_LOCAL_LOG` */
  readonly local_log?: UserValue<'local_log'> | undefined
  /** Size of the local trace log above which its oldest part goes (whole number, ≥ 1). Default: `268435456`. Environment: `HOOKSPAN_LOCAL_LOG_MAX_BYTES` */
  readonly local_log_max_bytes?: UserValue<'local_log_max_bytes'> | undefined
  /** Age above which a part of the local trace log goes (≥ 0). Default: `168`. Environment: `HOOKSPAN_LOCAL_LOG_MAX_AGE_HOURS` */
  readonly local_log_max_age_hours?: UserValue<'local_log_max_age_hours'> | undefined
  /** Longest time that something recorded stays in memory before it is in the local trace log (≥ 0). Default: `100`. Environment: `HOOKSPAN_LOG_FLUSH_MS` */
  readonly log_flush_ms?: UserValue<'log_flush_ms'> | undefined
  /** `service.name` of the resource. Default: the host's name, else `hookspan`. Environment: `HOOKSPAN_SERVICE_NAME` */
  readonly service_name?: UserValue<'service_name'> | undefined
  /** `openinference.project.name`: the project that Phoenix files the traces under. Default: none. Environment: `HOOKSPAN_PROJECT_NAME` */
  readonly project_name?: UserValue<'project_name'> | undefined
  /** `gen_ai.agent.name` of the turns. Default: the host's name, else none. Environment: `HOOKSPAN_AGENT_NAME` */
  readonly agent_name?: UserValue<'agent_name'> | undefined
  /** Further resource attributes. Default: none. Environment: `HOOKSPAN_RESOURCE_ATTRIBUTES` */
  readonly resource_attributes?: UserValue<'resource_attributes'> | undefined
  /** Resource attributes too; `resource_attributes` win over them. Default: none. Environment: `HOOKSPAN_GLOBAL_TAGS` */
  readonly global_tags?: UserValue<'global_tags'> | undefined
  /** First part of the names of our own attributes and metrics. Default: `hermes`. Environment: `HOOKSPAN_NAMESPACE` */
  readonly namespace?: UserValue<'namespace'> | undefined
  /** Sets of attribute names that are written side by side; `langfuse` is on where a backend of that type is named (list of `own`, `gen_ai`, `openinference`, `langfuse`). Default: `own, gen_ai, openinference`. Environment: `HOOKSPAN_CONVENTIONS` */
  readonly conventions?: UserValue<'conventions'> | undefined
  /** How spans are named (`hermes`, `semconv`). Default: `hermes`. Environment: `HOOKSPAN_SPAN_NAMES` */
  readonly span_names?: UserValue<'span_names'> | undefined
  /** What follows the names of roots, for lists that show no more: nothing, the agent, or the session, too (`none`, `agent`, `session`). Default: `none`. Environment: `HOOKSPAN_ROOT_LABEL` */
  readonly root_label?: UserValue<'root_label'> | undefined
  /** Status OK on what went well; off: UNSET. Default: `true`. Environment: `HOOKSPAN_SPAN_STATUS_OK` */
  readonly span_status_ok?: UserValue<'span_status_ok'> | undefined
  /** Repeat the token sums of a turn on its root. Default: `false`. Environment: `HOOKSPAN_USAGE_ON_ROOT` */
  readonly usage_on_root?: UserValue<'usage_on_root'> | undefined
  /** What one trace holds (`turn`, `session`). Default: `turn`. Environment: `HOOKSPAN_TRACE_SCOPE` */
  readonly trace_scope?: UserValue<'trace_scope'> | undefined
  /** Share of traces that are recorded, parent-based; not set: all (0 to 1). Default: none. Environment: `HOOKSPAN_SAMPLE_RATE` */
  readonly sample_rate?: UserValue<'sample_rate'> | undefined
  /** Prompts, arguments, results: none at all, clipped one-line previews, or whole values (`off`, `preview`, `full`). Default: `preview`. Environment: `HOOKSPAN_CONTENT_CAPTURE` */
  readonly content_capture?: UserValue<'content_capture'> | undefined
  /** Length of a preview (whole number, ≥ 1). Default: `1200`. Environment: `HOOKSPAN_PREVIEW_MAX_CHARS` */
  readonly preview_max_chars?: UserValue<'preview_max_chars'> | undefined
  /** The same, for arguments of tools (whole number, ≥ 1). Default: as `preview_max_chars`. Environment: `HOOKSPAN_TOOL_INPUT_PREVIEW_MAX_CHARS` */
  readonly tool_input_preview_max_chars?: UserValue<'tool_input_preview_max_chars'> | undefined
  /** The same, for results of tools (whole number, ≥ 1). Default: as `preview_max_chars`. Environment: `HOOKSPAN_TOOL_OUTPUT_PREVIEW_MAX_CHARS` */
  readonly tool_output_preview_max_chars?: UserValue<'tool_output_preview_max_chars'> | undefined
  /** The same, for what a model is sent (whole number, ≥ 1). Default: as `preview_max_chars`. Environment: `HOOKSPAN_LLM_INPUT_PREVIEW_MAX_CHARS` */
  readonly llm_input_preview_max_chars?: UserValue<'llm_input_preview_max_chars'> | undefined
  /** The same, for what a model answers (whole number, ≥ 1). Default: as `preview_max_chars`. Environment: `HOOKSPAN_LLM_OUTPUT_PREVIEW_MAX_CHARS` */
  readonly llm_output_preview_max_chars?: UserValue<'llm_output_preview_max_chars'> | undefined
  /** Length of one value with `content_capture: full`, in bytes of UTF-8 (whole number, ≥ 1). Default: `65535`. Environment: `HOOKSPAN_CONTENT_MAX_CHARS` */
  readonly content_max_chars?: UserValue<'content_max_chars'> | undefined
  /** The whole history as input of the llm span. Default: `false`. Environment: `HOOKSPAN_CAPTURE_CONVERSATION_HISTORY` */
  readonly capture_conversation_history?: UserValue<'capture_conversation_history'> | undefined
  /** Length of that history (whole number, ≥ 1). Default: `20000`. Environment: `HOOKSPAN_CONVERSATION_HISTORY_MAX_CHARS` */
  readonly conversation_history_max_chars?: UserValue<'conversation_history_max_chars'> | undefined
  /** Who wrote to the agent: `user.id`. Default: `false`. Environment: `HOOKSPAN_CAPTURE_SENDER_ID` */
  readonly capture_sender_id?: UserValue<'capture_sender_id'> | undefined
  /** Mask secrets in every attribute, event and description. Default: `true`. Environment: `HOOKSPAN_REDACT` */
  readonly redact?: UserValue<'redact'> | undefined
  /** Further regular expressions whose matches are masked. Default: none. Environment: `HOOKSPAN_REDACT_PATTERNS` */
  readonly redact_patterns?: UserValue<'redact_patterns'> | undefined
  /** A turn without a record for so long is over (≥ 0). Default: `600000`. Environment: `HOOKSPAN_ROOT_SPAN_TTL_MS` */
  readonly root_span_ttl_ms?: UserValue<'root_span_ttl_ms'> | undefined
  /** Further names of tools that start a child agent. Default: none. Environment: `HOOKSPAN_DELEGATING_TOOLS` */
  readonly delegating_tools?: UserValue<'delegating_tools'> | undefined
  /** A turn is linked to its caller (`traceparent`), or nested below it; `active`: or below the active span (`link`, `nest`, `active`). Default: `link`. Environment: `HOOKSPAN_PARENT` */
  readonly parent?: UserValue<'parent'> | undefined
  /** Hand the trace context (`traceparent`) to model requests and to the processes of tools, where the host lets us. Default: `true`. Environment: `HOOKSPAN_PROPAGATE_CONTEXT` */
  readonly propagate_context?: UserValue<'propagate_context'> | undefined
  /** Flush all backends when a turn ends. Default: `true`. Environment: `HOOKSPAN_FORCE_FLUSH_ON_SESSION_END` */
  readonly force_flush_on_session_end?: UserValue<'force_flush_on_session_end'> | undefined
  /** Longest time that a host which awaits its hooks waits for that flush (≥ 0). Default: `1500`. Environment: `HOOKSPAN_FORCE_FLUSH_WAIT_MS` */
  readonly force_flush_wait_ms?: UserValue<'force_flush_wait_ms'> | undefined
  /** A span for each skill that a turn loads. Default: `true`. Environment: `HOOKSPAN_SKILL_SPANS` */
  readonly skill_spans?: UserValue<'skill_spans'> | undefined
  /** The `gen_ai.*` metrics beside our own. Default: `true`. Environment: `HOOKSPAN_EMIT_GENAI_METRICS` */
  readonly emit_genai_metrics?: UserValue<'emit_genai_metrics'> | undefined
  /** Values of an open-ended metric label that are kept apart; the rest become `other` (whole number, ≥ 1). Default: `100`. Environment: `HOOKSPAN_METRICS_LABEL_LIMIT` */
  readonly metrics_label_limit?: UserValue<'metrics_label_limit'> | undefined
  /** How often metrics are pushed (≥ 1). Default: `60000`. Environment: `HOOKSPAN_METRICS_INTERVAL_MS` */
  readonly metrics_interval_ms?: UserValue<'metrics_interval_ms'> | undefined
  /** Serve metrics for Prometheus: `true`, or `{host, port}`. Default: off. Environment: `HOOKSPAN_PROMETHEUS` */
  readonly prometheus?: UserValue<'prometheus'> | undefined
  /** Spans that wait for a backend in memory (whole number, ≥ 1). Default: `2048`. Environment: `HOOKSPAN_SPAN_BATCH_MAX_QUEUE_SIZE` */
  readonly span_batch_max_queue_size?: UserValue<'span_batch_max_queue_size'> | undefined
  /** Longest time that a span waits for its batch to fill (≥ 0). Default: `1000`. Environment: `HOOKSPAN_SPAN_BATCH_SCHEDULE_DELAY_MS` */
  readonly span_batch_schedule_delay_ms?: UserValue<'span_batch_schedule_delay_ms'> | undefined
  /** Spans in one request (whole number, ≥ 1). Default: `128`. Environment: `HOOKSPAN_SPAN_BATCH_MAX_EXPORT_BATCH_SIZE` */
  readonly span_batch_max_export_batch_size?: UserValue<'span_batch_max_export_batch_size'> | undefined
  /** Longest time that one request may take, retries included (≥ 0). Default: `10000`. Environment: `HOOKSPAN_SPAN_BATCH_EXPORT_TIMEOUT_MS` */
  readonly span_batch_export_timeout_ms?: UserValue<'span_batch_export_timeout_ms'> | undefined
  /** Trace and span ids derived from host, session, turn and key: a replay gives the same ids. Default: `false`. Environment: `HOOKSPAN_DETERMINISTIC_IDS` */
  readonly deterministic_ids?: UserValue<'deterministic_ids'> | undefined
  /** Flush on SIGINT and SIGTERM; raise them again, unless the host listens to them itself. Default: `false`. Environment: `HOOKSPAN_HANDLE_SIGNALS` */
  readonly handle_signals?: UserValue<'handle_signals'> | undefined
  /** Write a debug log to the state directory. Default: `false`. Environment: `HOOKSPAN_DEBUG` */
  readonly debug?: UserValue<'debug'> | undefined
}

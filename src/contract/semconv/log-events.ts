/** OpenTelemetry severity numbers. */
export const SEVERITY = { TRACE: 1, DEBUG: 5, INFO: 9, WARN: 13, ERROR: 17, FATAL: 21 } as const

export type Severity = keyof typeof SEVERITY

/** Names and severities of log events; `{ns}` is the configured namespace. Names never contain an id. */
export const LOG_EVENT = {
  turnFailed: { name: '{ns}.turn.failed', severity: 'ERROR' },
  toolFailed: { name: '{ns}.tool.failed', severity: 'WARN' },
  requestRetried: { name: '{ns}.request.retried', severity: 'WARN' },
  approvalDenied: { name: '{ns}.approval.denied', severity: 'INFO' },
  approvalTimedOut: { name: '{ns}.approval.timed_out', severity: 'WARN' },
  hookBlocked: { name: '{ns}.hook.blocked', severity: 'WARN' },
  crashFound: { name: '{ns}.crash.found', severity: 'ERROR' },
  spansLost: { name: '{ns}.spans.lost', severity: 'ERROR' },
} as const

export type LogEventKey = keyof typeof LOG_EVENT

/** Attributes that only events have; all others have the same names as on spans. */
export const LOG_ATTRIBUTE = {
  /** Repeats the event's name: some stores drop the field. */
  eventName: 'event.name',
  spans: 'hookspan.spans',
  backend: 'hookspan.backend',
  reason: 'hookspan.reason',
} as const

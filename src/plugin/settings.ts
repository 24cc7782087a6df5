import { Capture, type CaptureSettings } from '../content/capture-policy.ts'
import { checkPattern } from '../content/redact-patterns.ts'
import { createRedactor } from '../content/redaction.ts'
import { MASK } from '../content/secret-span.ts'
import { isPromise, kindOf } from '../contract/foreign.ts'
import { DELEGATING_TOOLS } from '../contract/index.ts'
import { nameOf, ownershipOf, resolveFacts } from '../contract/semconv/index.ts'
import type { PipelineSettings } from '../delivery/pipeline/index.ts'
import type { Continuation } from '../delivery/trace-log/index.ts'
import { onceEach } from '../tracker/guard.ts'
import type { CoreConfig } from '../tracker/options.ts'
import { thresholdOf } from '../tracker/spans/keep.ts'
import type { AttributeOptions, KeepRules } from '../tracker/spans/span-definition.ts'
import { parseTraceparent } from '../tracker/traceparent.ts'
import type { KeepConfig } from './config/keep.ts'
import { openWorkTtlMillisOf } from './config/keys.ts'
import { type Environment, stateHome } from './config/paths.ts'
import type { ResolvedConfig } from './config/types.ts'
import { PACKAGE_VERSION } from './package-facts.ts'
import type { Redact } from './plugin.ts'
import { createPricing } from './prices/prices.ts'

/** Share of `log_flush_ms` for which records may wait in memory. The rest is left for scheduling. */
const LOG_SHARE = 0.9

/** Indexed messages take several attributes each. The SDK's own limit of 128 would silently drop later ones. */
const ATTRIBUTE_COUNT_LIMIT = 1024

/** Limits all custom patterns together: checking the longest takes up to 60 ms. */
const PATTERN_CHARACTERS = 20_000
const PATTERN_WARNINGS = 20

function ownPatterns(config: ResolvedConfig, warn: (line: string) => void): RegExp[] {
  const sources = config.redact_patterns
  const patterns: RegExp[] = []
  let room = PATTERN_CHARACTERS
  let refused = 0
  for (const [index, source] of sources.entries()) {
    room -= source.length
    if (room < 0) {
      const limit = `together they may have ${PATTERN_CHARACTERS} characters`
      warn(`config: redact_patterns: ${sources.length - index} of ${sources.length} are left out: ${limit}`)
      break
    }
    const checked = checkPattern(source)
    if (checked.ok) patterns.push(checked.pattern)
    else if (++refused <= PATTERN_WARNINGS) {
      // The pattern itself may be a secret. Its index is enough to find it.
      warn(`config: redact_patterns[${index}] is left out: ${checked.reason}`)
    }
  }
  if (refused > PATTERN_WARNINGS) warn(`config: redact_patterns: and ${refused - PATTERN_WARNINGS} more are left out`)
  return patterns
}

/** Guards a user's redactor. If it fails, the whole text is withheld: it is unknown what would have been removed. */
function guardedRedact(redact: Redact, warn: (line: string) => void): Redact {
  let isReported = false
  const withhold = (why: string): string => {
    if (!isReported) warn(`redact: it ${why}; such texts are withheld as ${MASK}`)
    isReported = true
    return MASK
  }
  return text => {
    try {
      const redacted: unknown = redact(text)
      if (typeof redacted === 'string') return redacted
      return withhold(isPromise(redacted) ? 'returned a promise' : 'returned no text')
    } catch (error) {
      return withhold(`threw ${kindOf(error)}`)
    }
  }
}

export function attributeOptionsOf(
  config: ResolvedConfig,
  warn: (line: string) => void,
  ownRedact?: Redact,
): AttributeOptions {
  const own = ownRedact && guardedRedact(ownRedact, warn)
  const patterns = ownPatterns(config, warn)
  const redact = createRedactor({ enabled: config.redact, patterns, own })
  const settings: CaptureSettings = {
    mode: config.content_capture,
    previewMaxChars: config.preview_max_chars,
    contentMaxChars: config.content_max_chars,
    conversationHistory: config.capture_conversation_history,
    senderId: config.capture_sender_id,
    redact,
    isPure: own === undefined,
    redactsShortKeys: config.redact && (own !== undefined || patterns.length > 0),
  }
  const capture = new Capture(settings)
  // Users who reach Langfuse through a collector set its convention themselves.
  const isLangfuse = config.backends.some(({ type }) => type === 'langfuse')
  const conventions = isLangfuse ? ([...config.conventions, 'langfuse'] as const) : config.conventions
  // A user's own setting may contain spaces, whatever the capture mode.
  const { id } = new Capture({ ...settings, mode: 'preview' })
  return {
    facts: resolveFacts(config.namespace, conventions),
    isOurs: ownershipOf(config.namespace),
    capture,
    warnOnce: onceEach(warn),
    workspaceCapture: config.workspace_capture,
    nextMetrics: config.conventions.includes('gen_ai_next'),
    spanNames: config.span_names,
    agentName: id(config.agent_name),
    projectName: id(config.project_name),
    pricing: config.prices && createPricing(config.prices, warn),
    keep: config.keep && keepRules(config.keep),
  }
}

function keepThreshold({ rate }: KeepConfig): string | undefined {
  return rate === undefined ? undefined : thresholdOf(rate)
}

function keepRules(rules: KeepConfig): KeepRules {
  return {
    errors: rules.errors,
    denied: rules.denied,
    slowerThanMillis: rules.slower_than_ms,
    waitsCount: rules.waits_count,
    costOver: rules.cost_over,
    tokensOver: rules.tokens_over,
    tools: new Set(rules.tools.map(name => name.toLowerCase())),
    threshold: keepThreshold(rules),
  }
}

export function coreConfigOf(config: ResolvedConfig, env: Environment): CoreConfig {
  const delegating = [...DELEGATING_TOOLS, ...config.delegating_tools]
  return {
    namespace: config.namespace,
    parent: config.parent,
    delegatingTools: new Set(delegating.map(name => name.toLowerCase())),
    emitGenAiMetrics: config.conventions.includes('gen_ai'),
    rootSpanTtlMillis: config.root_span_ttl_ms,
    openWorkTtlMillis: openWorkTtlMillisOf(config),
    flushOnSessionEnd: config.force_flush_on_session_end,
    flushWaitMillis: config.force_flush_wait_ms,
    remoteParent: parseTraceparent(env['TRACEPARENT']),
  }
}

export function pipelineSettings(
  config: ResolvedConfig,
  env: Environment,
  home: string,
  continuation?: Continuation,
): PipelineSettings {
  const directory = config.local_log ? stateHome(env, home) : undefined
  const { keep } = config
  const facts = resolveFacts(config.namespace, config.conventions)
  const reasonName = nameOf(facts.samplingReason)
  return {
    serviceName: config.service_name,
    projectName: config.project_name,
    resourceAttributes: config.resource_attributes,
    version: PACKAGE_VERSION,
    namespace: config.namespace,
    marks: {
      incomplete: nameOf(facts.spanIncomplete),
      finalStatus: nameOf(facts.turnFinalStatus),
      spanKind: nameOf(facts.spanKind),
    },
    backends: config.backends,
    localLog:
      directory === undefined
        ? undefined
        : {
            directory,
            maxBytes: config.local_log_max_bytes,
            maxAgeHours: config.local_log_max_age_hours,
            flushMillis: config.log_flush_ms * LOG_SHARE,
            continued: continuation && {
              withinMillis: openWorkTtlMillisOf(config),
              isContinuedHere: continuation.isContinuedHere,
            },
          },
    sampleRate: config.sample_rate,
    // Without our own attribute names, a root cannot carry the reason why it was kept.
    tailSampling:
      keep?.hold && reasonName !== ''
        ? { reasonName, threshold: keepThreshold(keep), maxBytes: keep.max_bytes }
        : undefined,
    attributeCountLimit: ATTRIBUTE_COUNT_LIMIT,
    batch: {
      maxQueueSize: config.span_batch_max_queue_size,
      scheduleDelayMillis: config.span_batch_schedule_delay_ms,
      maxExportBatchSize: config.span_batch_max_export_batch_size,
      exportTimeoutMillis: config.span_batch_export_timeout_ms,
    },
    metricsIntervalMillis: config.metrics_interval_ms,
    prometheus: config.prometheus,
    deterministicIds: config.deterministic_ids,
    continuation,
    flushWaitMillis: config.force_flush_wait_ms,
  }
}

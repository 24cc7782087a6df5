import { type Attributes, SpanKind } from '@opentelemetry/api'
import { type CapturedContent, literal, phrase, type SafeText } from '../../content/safe-text.ts'
import { booleanOf, numberOf, peek, textOf, wholeOf } from '../../contract/foreign.ts'
import type { FinalStatus, IterationStart, SessionEnd, SessionStart, TurnEvent } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { type SamplingReason, samplingReason } from './keep.ts'
import { oneMessage } from './messages.ts'
import { inferenceProvider } from './request-parameters.ts'
import type { AttributeOptions, HookEvent, MetricPoint, SpanDefinition, SpanError } from './span-definition.ts'
import { addSummary, type TurnTotals } from './turn-totals.ts'

export interface RootSpanEnd extends SessionEnd {
  readonly finalStatus: FinalStatus
  readonly totals: TurnTotals
  readonly durationMillis: number
  readonly agentName: SafeText | undefined
  readonly isBackground: boolean
  /** The trace to sample: of an outermost turn, or of a child agent's turn that ends after all turns above it. */
  readonly traceId: string | undefined
  readonly isPart: boolean
  /** The decision about its trace, if it was made before the end because the buffer was full. */
  readonly earlySampling: SamplingReason | undefined
}

const CRON = 'cron'
const MAX_TURNS = 'max_turns'
export const BACKGROUND: SafeText = literal('background')

function mentionsCron(value: unknown): boolean {
  return typeof value === 'string' && value.toLowerCase().includes(CRON)
}

function isGiven(id: unknown): boolean {
  return textOf(id) !== undefined || typeof id === 'number'
}

/** The trigger of the session. Low-cardinality, because it is a metric label too. */
function sessionKind(payload: SessionStart): string {
  const reported = textOf(payload.session_type) ?? textOf(payload.origin) ?? textOf(payload.run_type)
  if (reported !== undefined) return reported
  const cron =
    mentionsCron(payload.platform) ||
    mentionsCron(payload.source) ||
    mentionsCron(payload.trigger) ||
    isGiven(payload.job_id) ||
    isGiven(payload.cron_job_id)
  return cron ? CRON : 'session'
}

/** The sampling reason of the trace. The outermost turn decides, because its totals include its children. */
function samplingReasonOf(
  { traceId, isPart, totals, durationMillis, earlySampling }: RootSpanEnd,
  error: SpanError | undefined,
  { keep }: AttributeOptions,
): SafeText | undefined {
  if (keep === undefined || traceId === undefined) return undefined
  const hasFailed = error !== undefined
  if (!isPart) return literal(earlySampling ?? samplingReason(keep, { traceId, totals, durationMillis, hasFailed }))
  // The root was sampled without this child, but with its own duration. Duration is not checked again.
  const reason = samplingReason(keep, { traceId, totals, durationMillis: 0, hasFailed })
  return reason === 'none' ? undefined : literal(reason)
}

function samplingPoints({ earlySampling, isPart }: RootSpanEnd, reason: SafeText | undefined): readonly MetricPoint[] {
  if (reason === undefined || isPart) return []
  const early = String(earlySampling !== undefined)
  return [{ instrument: 'samplingTurns', value: 1, labels: { [LABEL.reason]: reason, [LABEL.early]: early } }]
}

export function iterationAttributes(payload: IterationStart, { facts }: AttributeOptions): Attributes {
  return new AttributeList()
    .set(facts.iterationNumber, wholeOf(payload.iteration))
    .set(facts.iterationConfidence, numberOf(payload.confidence))
    .toAttributes()
}

/** Attributes of a turn event. The adapter may have had to guess its turn, so `correlation` is included. */
export function turnEventAttributes(event: HookEvent<TurnEvent>, { facts, capture }: AttributeOptions): Attributes {
  const { payload, correlation } = event
  const isGuess = correlation === 'inferred' || correlation === 'ambiguous'
  return new AttributeList()
    .set(facts.eventName, capture.id(payload.name))
    .set(facts.correlation, isGuess ? literal(correlation) : undefined)
    .toAttributes()
}

/** Reads each field once: if one throws or changes on a second read, the turn must end all the same. */
export function readSessionEnd(payload: unknown): SessionEnd {
  return {
    completed: booleanOf(peek(payload, 'completed')),
    interrupted: booleanOf(peek(payload, 'interrupted')),
    failed: booleanOf(peek(payload, 'failed')),
    turn_exit_reason: textOf(peek(payload, 'turn_exit_reason')),
    reason: textOf(peek(payload, 'reason')),
    model: textOf(peek(payload, 'model')),
  }
}

/** `failed` overrides `interrupted`, which overrides `completed`. Hosts set more than one, even `completed` for a killed turn. */
export function finalStatusOf(payload: SessionEnd): FinalStatus {
  if (payload.failed === true) return 'failed'
  if (payload.interrupted === true) return 'interrupted'
  return payload.completed === true ? 'completed' : 'incomplete'
}

function errorOf(end: RootSpanEnd, options: AttributeOptions): SpanError | undefined {
  if (end.finalStatus !== 'failed' && end.finalStatus !== 'incomplete') return undefined
  const reason = options.capture.id(end.turn_exit_reason) ?? options.capture.id(end.reason)
  // A limit that the agent set for itself ended the turn, not an error of a request or a tool.
  const isLimit = end.turn_exit_reason === MAX_TURNS
  return {
    type: isLimit ? literal(MAX_TURNS) : (end.totals.lastErrorType ?? literal(end.finalStatus)),
    message: reason ?? literal(`turn ${end.finalStatus}`),
  }
}

export function sessionStartAttributes(payload: SessionStart, { facts, capture }: AttributeOptions): AttributeList {
  const { id } = capture
  return new AttributeList()
    .set(facts.sessionKind, id(sessionKind(payload)))
    .set(facts.platform, id(payload.platform))
    .set(facts.profile, id(payload.profile))
    .set(facts.cronJobId, id(payload.job_id) ?? id(payload.cron_job_id))
    .set(facts.agentName, id(payload.agent_name))
    .set(facts.model, id(payload.model))
}

export function promptAttributes(input: CapturedContent | undefined, options: AttributeOptions): AttributeList {
  const { facts } = options
  return new AttributeList()
    .setContent(facts.input, facts.inputType, facts.contentTruncated, input)
    .set(facts.inputMessages, oneMessage('user', input, options))
}

export const session: SpanDefinition<SessionStart, RootSpanEnd> = {
  kind: 'session',
  spanKind: SpanKind.INTERNAL,
  parents: [],
  key: () => 'root',
  name(payload, options) {
    if (options.spanNames === 'hermes') return literal(sessionKind(payload as SessionStart) === CRON ? CRON : 'agent')
    const agent = options.capture.id((payload as SessionStart).agent_name) ?? options.agentName
    const operation = literal(OPERATION.invokeAgent)
    return agent === undefined ? operation : phrase`${operation} ${agent}`
  },
  start({ payload }, options) {
    return new AttributeList()
      .set(options.facts.inferenceKind, literal(OPENINFERENCE_KIND.agent))
      .set(options.facts.projectName, options.projectName)
      .set(options.facts.operationName, literal(OPERATION.invokeAgent))
      .addAll(sessionStartAttributes(payload, options))
  },
  end({ payload }, options) {
    const { facts, capture } = options
    const { totals } = payload
    const error = errorOf(payload, options)
    const attributes: AttributeList = new AttributeList()
      .set(facts.model, capture.id(payload.model))
      .set(facts.providerName, totals.modelProvider)
      .set(facts.inferenceProvider, inferenceProvider(totals.modelProvider))
      .set(facts.responseModel, totals.responseModel)
      .set(facts.sessionCompleted, booleanOf(payload.completed))
      .set(facts.sessionInterrupted, booleanOf(payload.interrupted))
      .set(facts.sessionFailed, booleanOf(payload.failed))
      .set(facts.turnExitReason, capture.id(payload.turn_exit_reason))
      .setContent(facts.output, facts.outputType, facts.contentTruncated, totals.output)
      .set(facts.outputMessages, oneMessage('assistant', totals.output, options))
      .set(facts.turnDurationMs, payload.durationMillis || undefined)
      .set(facts.turnFinalStatus, literal(payload.finalStatus))
    addSummary(attributes, totals, options)
    attributes.set(facts.samplingReason, samplingReasonOf(payload, error, options))
    return { attributes, error }
  },
  logEvent({ payload }, options) {
    const error = errorOf(payload, options)
    if (error === undefined) return undefined
    const { facts } = options
    return {
      event: 'turnFailed',
      attributes: new AttributeList()
        .set(facts.agentName, payload.agentName)
        .set(facts.turnFinalStatus, literal(payload.finalStatus))
        .set(facts.turnDurationMs, payload.durationMillis || undefined)
        .set(facts.errorType, error.type)
        .set(facts.errorMessage, error.message),
    }
  },
  measure({ payload }, options, { start, durationMillis }) {
    const labels = {
      [LABEL.kind]: payload.isBackground ? BACKGROUND : (options.capture.id(sessionKind(start ?? {})) ?? 'session'),
      [LABEL.finalStatus]: payload.finalStatus,
    }
    const seconds = (durationMillis ?? 0) / 1000
    const error = errorOf(payload, options)
    const agent = {
      ...(payload.agentName === undefined ? {} : { 'gen_ai.agent.name': payload.agentName }),
      ...(error === undefined ? {} : { 'error.type': error.type }),
    }
    const points: MetricPoint[] = [
      { instrument: 'sessions', value: 1, labels },
      ...samplingPoints(payload, samplingReasonOf(payload, error, options)),
      { instrument: 'turnDuration', value: seconds, labels },
      { instrument: 'genAiInvokeAgentDuration', value: seconds, labels: agent },
    ]
    if (!options.nextMetrics) return points
    const { apiCalls, toolCalls } = payload.totals
    points.push({ instrument: 'nextInferenceCalls', value: apiCalls, labels: agent })
    points.push({ instrument: 'nextToolCalls', value: toolCalls, labels: agent })
    return points
  },
}

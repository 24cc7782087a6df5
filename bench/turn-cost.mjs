import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { load } from './build.mjs'
import { median } from './figures.mjs'
import { ManualReader, sdk } from './providers.mjs'
import { turnRecords } from './turn.mjs'

const { resolveConfig } = await load('plugin/config/resolve.js')
const { INSTRUMENTS } = await load('tracker/instrument-table.js')
const { createPlugin } = await load('index.js')
const { ownTracerProvider } = await load('delivery/pipeline/own-tracer.js')
const { createMeterProvider } = await load('delivery/pipeline/providers.js')
const { PlainResource } = await load('delivery/trace-log/plain-resource.js')
const { METRIC } = await load('contract/semconv/metrics.js')
const { requestJson } = await load('delivery/trace-log/span-json.js')
const { HOOK_PLAN } = await load('tracker/spans/hook-plan.js')
const { attributeOptionsOf } = await load('plugin/settings.js')
const TURNS = 1000
const ROUNDS = 11
const AT = 1_795_256_100_000

/** What one turn comes to: its spans as the SDK was given them, and its points. */
function recordedTurn() {
  const spans = []
  const { tracerProvider, meterProvider } = sdk(span => spans.push(span))
  const plugin = createPlugin({ host: 'bench', tracerProvider, meterProvider })
  const records = turnRecords('s', 't', AT)
  for (const { hook, payload, meta } of records) plugin.on(hook, payload, meta)
  const draw = attributeOptionsOf(resolveConfig({ env: {}, home: '/nonexistent' }).config, () => {})
  const ends = records.filter(({ hook }) => HOOK_PLAN[hook].phase === 'end' && hook !== 'on_session_end')
  const points = ends.flatMap(({ hook, payload, meta }) =>
    HOOK_PLAN[hook].definition.measure({ hook, payload, at: meta.at, facts: {} }, draw, {
      startAt: meta.at - 100,
      start: payload,
      durationMillis: 100,
    }),
  )
  points.push({ instrument: 'sessions', value: 1, labels: { kind: 'session', final_status: 'completed' } })
  points.push({ instrument: 'turnDuration', value: 14.6, labels: { kind: 'session', final_status: 'completed' } })
  points.push({ instrument: 'genAiInvokeAgentDuration', value: 14.6, labels: { 'gen_ai.agent.name': 'bench' } })
  return { spans, points, records }
}

const timeOf = hr => hr[0] * 1000 + hr[1] / 1e6

/** The bare SDK doing the same: the same spans with the same attributes, the same points. */
function bare({ spans, points }) {
  const { tracerProvider, meterProvider } = sdk()
  const tracer = tracerProvider.getTracer('bare')
  const meter = meterProvider.getMeter('bare')
  const instruments = {}
  for (const [key, row] of Object.entries(INSTRUMENTS)) {
    const options = { unit: row.unit, description: row.description, advice: { explicitBucketBoundaries: row.buckets } }
    if (row.kind === 'histogram') instruments[key] = meter.createHistogram(METRIC[key], options)
    else if (row.kind === 'counter') instruments[key] = meter.createCounter(METRIC[key], options)
  }
  const plan = spans
    .map(span => ({
      span,
      startAt: timeOf(span.startTime),
      endAt: timeOf(span.endTime),
      status: span.status,
      parent: span.parentSpanContext?.spanId,
    }))
    .sort((a, b) => a.startAt - b.startAt)
  return () => {
    const open = new Map()
    for (const { span, startAt, parent } of plan) {
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, open.get(parent))
      open.set(
        span.spanContext().spanId,
        tracer.startSpan(span.name, { kind: span.kind, startTime: startAt, attributes: span.attributes }, context),
      )
    }
    for (const { span, endAt } of plan) {
      const started = open.get(span.spanContext().spanId)
      started.setStatus({ code: SpanStatusCode.OK })
      started.end(endAt)
    }
    for (const { instrument, value, labels } of points) {
      const target = instruments[instrument]
      if (target.record) target.record(value, labels)
      else target.add(value, labels)
    }
  }
}

/** Records the spans and points of our own pipeline, and writes the spans of each turn if `write` is given. */
function ours(write) {
  const resource = new PlainResource({})
  const { meterProvider } = createMeterProvider(resource, [new ManualReader()])
  const ended = []
  const onEnd = span => write && ended.push(span)
  const spanProcessors = [{ onStart() {}, onEnd, async forceFlush() {}, async shutdown() {} }]
  const limits = { attributeCountLimit: 1024, partCountLimit: 128 }
  const tracerProvider = ownTracerProvider({ resource, spanProcessors, ...limits })
  const plugin = createPlugin({ host: 'bench', tracerProvider, meterProvider })
  return (session, turn) => {
    for (const { hook, payload, meta } of turnRecords(session, turn, AT)) plugin.on(hook, payload, meta)
    write?.(ended.splice(0))
  }
}

/** No turn is a repeat of another one, whose records would be ignored. */
let ordinal = 0

/** CPU time, because other programs make the time of a clock useless. */
function micros(run) {
  const before = process.cpuUsage()
  for (let n = 0; n < TURNS; n++) run(`s${++ordinal}`, `t${ordinal}`)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / TURNS
}

/** Building the records is no cost of ours: it is measured apart and taken off. */
function building(session, turn) {
  turnRecords(session, turn, AT)
}

export function turnCost() {
  const turn = recordedTurn()
  const runBare = bare(turn)
  const runOurs = ours(requestJson)
  const runRecording = ours()
  const rounds = []
  for (let round = -2; round < ROUNDS; round++) {
    const built = micros(building)
    const figures = { bare: micros(runBare), ours: micros(runOurs) - built, recording: micros(runRecording) - built }
    if (round >= 0) rounds.push(figures)
  }
  return {
    spans: turn.spans.length,
    hooks: turn.records.length,
    points: turn.points.length,
    bareMicros: median(rounds.map(({ bare }) => bare)),
    oursMicros: median(rounds.map(({ ours }) => ours)),
    ratio: median(rounds.map(({ bare, ours }) => ours / bare)),
    recordingRatio: median(rounds.map(({ bare, recording }) => recording / bare)),
  }
}

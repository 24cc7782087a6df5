// What it takes to hold a trace until it is judged.
import { load } from './build.mjs'
import { quantile } from './figures.mjs'
import { sdk } from './providers.mjs'
import { turnRecords } from './turn.mjs'

const { createPlugin } = await load('index.js')
const { TailSampler } = await load('delivery/pipeline/tail-sampler.js')
const AT = 1_795_256_100_000
const OPEN_TURNS = 1000
const ROUNDS = 41
const TURNS = 50
const REASON = 'hermes.sampling.reason'

function heapBytes() {
  for (let n = 0; n < 4; n++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

/** Nothing is behind it: only the holding is measured. */
function plugin(isHeld) {
  let spans = 0
  const counting = { onStart() {}, onEnd: () => void spans++, async forceFlush() {}, async shutdown() {} }
  const holder = new TailSampler(counting, { reasonName: REASON, threshold: undefined, maxBytes: Number.MAX_VALUE })
  let ended = 0
  const start = (span, context) => isHeld && holder.onStart(span, context)
  const { tracerProvider, meterProvider } = sdk(span => {
    ended++
    if (isHeld) holder.onEnd(span)
  }, start)
  const keep = { errors: true, hold: isHeld }
  return { target: createPlugin({ host: 'bench', tracerProvider, meterProvider, keep }), endedSpans: () => ended }
}

/** Bytes of heap for each span that has ended in turns that go on, against the same turns with nobody who holds it. */
function bytesOfSpan() {
  const growth = isHeld => {
    const { target, endedSpans } = plugin(isHeld)
    const before = heapBytes()
    for (let n = 0; n < OPEN_TURNS; n++) {
      const records = turnRecords(`s${n}`, `t${n}`, AT).filter(({ hook }) => !/^(post_llm_call|on_session_)/.test(hook))
      for (const { hook, payload, meta } of records) target.on(hook, payload, meta)
    }
    target.stats()
    return { bytes: heapBytes() - before, spans: endedSpans(), target }
  }
  const [free, held] = [growth(false), growth(true)]
  return (held.bytes - free.bytes) / held.spans
}

/** Microseconds that holding and judging add to a turn, the median of pairs. */
function microsOfTurn() {
  const [free, held] = [plugin(false).target, plugin(true).target]
  let turn = 0
  const time = target => {
    const all = Array.from({ length: TURNS }, () => turnRecords('s', `t${turn++}`, AT + turn * 20_000))
    const started = process.hrtime.bigint()
    for (const records of all) for (const { hook, payload, meta } of records) target.on(hook, payload, meta)
    target.stats()
    return Number(process.hrtime.bigint() - started) / 1000 / TURNS
  }
  const pairs = Array.from({ length: ROUNDS }, () => [time(free), time(held)])
  const median = side =>
    quantile(
      pairs.map(pair => pair[side]),
      0.5,
    )
  return { freeMicros: median(0), heldMicros: median(1) }
}

export function keepCost() {
  return { spanBytes: bytesOfSpan(), ...microsOfTurn() }
}

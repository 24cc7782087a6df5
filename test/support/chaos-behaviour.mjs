import { writeMessage } from './protobuf-fields.mjs'
import { pick, seeded, wholeNumber } from './seeded.mjs'

/** Which behaviour the next request meets: a mix or a sequence picks one for each request, others are themselves. */
export function player(behaviour) {
  if (behaviour.kind === 'flapping') return flapping(behaviour)
  if (behaviour.kind === 'sequence') return sequence(behaviour)
  return () => behaviour
}

function flapping({ seed, mix }) {
  const random = seeded(seed)
  const players = mix.map(({ share, behaviour }) => ({ share, play: player(behaviour) }))
  const total = players.reduce((sum, { share }) => sum + share, 0)
  return () => {
    let left = random() * total
    const chosen = players.find(({ share }) => {
      left -= share
      return left < 0
    })
    return (chosen ?? players[0]).play()
  }
}

function sequence({ of }) {
  const players = of.map(player)
  let next = 0
  return () => players[Math.min(next++, players.length - 1)]()
}

/** A timetable of what a collector can suffer, the same for the same seed. It ends well. */
export function chaosSchedule(seed, totalMillis) {
  const random = seeded(seed)
  const ills = [
    { kind: 'down' },
    { kind: 'hanging' },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 429, retryAfter: { seconds: 1 } },
    { kind: 'reset', when: 'before' },
    { kind: 'reset', when: 'after' },
    { kind: 'slow', millis: 300 },
  ]
  const steps = []
  for (let at = 0; at < totalMillis; at += steps.at(-1).forMillis) {
    const behaviour = steps.length % 2 === 0 ? { kind: 'ok' } : pick(random, ills)
    steps.push({ forMillis: wholeNumber(random, 50, 1500), behaviour })
  }
  return [...steps, { forMillis: 0, behaviour: { kind: 'ok' } }]
}

const OK = { status: 200, takes: Number.POSITIVE_INFINITY }

/**
 * What a request is answered. `takes`: how many of its spans, from the first, are accepted; `end` replaces the answer.
 */
export function judge(behaviour, request) {
  switch (behaviour.kind) {
    case 'slow':
      return { ...judge(behaviour.answer ?? { kind: 'ok' }, request), delayMillis: behaviour.millis }
    case 'hanging':
      return { end: 'hanging', takes: 0 }
    case 'reset':
      return { end: 'reset', takes: 0 }
    case 'status':
      return refusal(behaviour.status, { ...behaviour.headers, ...retryAfter(behaviour.retryAfter) })
    case 'partial':
      return partial(behaviour, request)
    case 'poison':
      return request.spans.some(({ name }) => name === behaviour.name) ? refusal(behaviour.status ?? 400) : OK
    case 'limit':
      return request.bytes > behaviour.bytes ? refusal(413) : OK
    case 'token':
      return request.headers[behaviour.header] === behaviour.value ? OK : refusal(401)
    case 'path':
      return request.path === behaviour.path ? OK : refusal(404)
    case 'protobuf only':
      return request.isJson ? refusal(415) : OK
    default:
      return OK
  }
}

function refusal(status, headers = {}) {
  return { status, headers, takes: 0, ...retryAt(headers['retry-after']) }
}

function retryAfter(pause) {
  if (pause === undefined) return {}
  if ('seconds' in pause) return { 'retry-after': String(pause.seconds) }
  return { 'retry-after': new Date(Date.now() + pause.dateInMillis).toUTCString() }
}

/** The moment that the header names: a date has no fractions of a second. */
function retryAt(header) {
  if (header === undefined) return {}
  const seconds = Number(header)
  return { retryAt: Number.isNaN(seconds) ? Date.parse(header) : Date.now() + seconds * 1000 }
}

function partial({ rejected }, { spans, isJson }) {
  const count = Math.min(rejected, spans.length)
  const errorMessage = `${count} spans are not wanted`
  const json = JSON.stringify({ partialSuccess: { rejectedSpans: count, errorMessage } })
  const message = [
    [1, count],
    [2, errorMessage],
  ]
  return { status: 200, takes: spans.length - count, body: isJson ? json : writeMessage([[1, writeMessage(message)]]) }
}

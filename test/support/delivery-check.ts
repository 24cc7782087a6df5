import { isDeepStrictEqual } from 'node:util'
import type { AcceptedSpan, ChaosRequest } from './chaos-sink.mjs'
import { savedUntil, spanKey, type ToldSpan, toldSpans, type WitnessLine } from './witness.ts'

/** Names the host that makes a request. */
export const SENDER_HEADER = 'x-host'

/** What one host told, and how it ended. */
export interface HostAccount {
  readonly name: string
  readonly witness: readonly WitnessLine[]
  /** What of it must be there; the rest may be. */
  readonly certain: 'everything' | 'all but the last line' | 'what there was time to save'
  /** When it was cut off, without a chance to note an answer that was under way. Epoch milliseconds. */
  readonly cutAt?: number
  /** What its spans that were open at its end are marked as: one of these. Absent = it lives. */
  readonly openAs?: readonly string[]
}

export interface CheckOptions {
  /** Keys of spans that are lost for a reason. */
  readonly mayMiss?: ReadonlySet<string>
}

export interface DeliveryCheck {
  /** Empty = all is well. One line each, for whoever reads the failing test. */
  readonly problems: readonly string[]
  readonly told: number
  /** Open when their host ended. */
  readonly open: number
  /** Told so late that a kill may have cost it. */
  readonly uncertain: number
  /** Repeats that nobody could avoid: of requests whose answer the client had no time to note. */
  readonly excusedRepeats: number
  /** The longest time from such an answer to the kill; 0 where it was sent afterwards, or never heard. */
  readonly unnotedMillis: number
}

export interface Backend {
  readonly accepted: readonly AcceptedSpan[]
  readonly requests: readonly ChaosRequest[]
}

/** How long before a cut an answer may have been sent without having been noted, also by a process that was quick. */
const UNNOTED_MILLIS = 250
const SHOWN_PROBLEMS = 12

/** Whether one backend has got everything that the hosts told, once, and as it was. */
export function checkDelivery(
  hosts: readonly HostAccount[],
  backend: Backend,
  options: CheckOptions = {},
): DeliveryCheck {
  const received = byKey(backend.accepted)
  const expectations = hosts.flatMap(expectationsOf)
  const problems = new Problems()
  for (const expected of expectations) checkSpan(expected, received.get(expected.span.key) ?? [], options, problems)
  const known = new Set(expectations.map(({ span }) => span.key))
  for (const key of received.keys()) if (!known.has(key)) problems.add('never told', key)
  if (options.mayMiss === undefined) checkParents(expectations, received, backend, problems)
  const cuts = hosts.flatMap(({ name, cutAt, witness }) =>
    cutAt === undefined ? [] : { name, at: cutAt, savedUntil: savedUntil(witness) },
  )
  const excuses = checkRepeats(backend, cuts, problems)
  return {
    problems: problems.lines,
    told: expectations.length,
    open: expectations.filter(({ span }) => span.endAt === undefined).length,
    uncertain: expectations.filter(({ end }) => end === 'uncertain').length,
    excusedRepeats: excuses.length,
    unnotedMillis: Math.max(0, ...excuses),
  }
}

function byKey(accepted: readonly AcceptedSpan[]): Map<string, AcceptedSpan[]> {
  const groups = new Map<string, AcceptedSpan[]>()
  for (const span of accepted) {
    const key = spanKey(span)
    const group = groups.get(key)
    if (group) group.push(span)
    else groups.set(key, [span])
  }
  return groups
}

/** Whether spans that both backends have are the same, whichever way they came. */
export function checkSameSpans(one: Backend, other: Backend): readonly string[] {
  const problems = new Problems()
  const there = new Map(other.accepted.map(span => [span.spanId, span]))
  for (const span of one.accepted) {
    const twin = there.get(span.spanId)
    if (twin === undefined || isDeepStrictEqual(bare(span), bare(twin))) continue
    problems.add('not the same on both', `${spanKey(span)}: ${difference(bare(span), bare(twin))}`)
  }
  return problems.lines
}

type Certainty = 'certain' | 'uncertain' | 'open'

interface Expectation {
  readonly span: ToldSpan
  readonly start: Exclude<Certainty, 'open'>
  readonly end: Certainty
  readonly openAs: readonly string[] | undefined
  /** An open turn whose answer was recorded: it completed, whoever ends it. */
  readonly isAnswered: boolean
  /** The last line of its witness. */
  readonly lastAt: number
}

function expectationsOf({ witness, certain, openAs }: HostAccount): Expectation[] {
  const lastAt = witness.at(-1)?.at ?? 0
  const until = {
    everything: Infinity,
    'all but the last line': lastAt - 1,
    'what there was time to save': savedUntil(witness),
  }
  const isCertain = (at: number): boolean => at <= until[certain]
  const spans = toldSpans(witness)
  const isAnswered = ({ key, endAt }: ToldSpan): boolean => {
    const loop =
      key.startsWith('session ') && endAt === undefined ? spans.get(key.replace('session', 'llm')) : undefined
    return loop?.endAt !== undefined && !loop.isCut
  }
  return [...spans.values()].map(span => ({
    span,
    start: isCertain(span.startAt) ? 'certain' : 'uncertain',
    end: span.endAt === undefined ? 'open' : isCertain(span.endAt) ? 'certain' : 'uncertain',
    openAs,
    isAnswered: isAnswered(span),
    lastAt,
  }))
}

function checkSpan(
  { span, start, end: told, openAs, isAnswered, lastAt }: Expectation,
  received: readonly AcceptedSpan[],
  { mayMiss }: CheckOptions,
  problems: Problems,
): void {
  const isLost = mayMiss?.has(span.key) === true
  // Where its end is lost, the note of its start may still be there.
  const end = isLost ? 'uncertain' : told
  if (received.length === 0) {
    if (openAs === undefined && end === 'open') return
    if (start !== 'certain' || isLost) return
    const ages = [span.startAt, ...(span.endAt === undefined ? [] : [span.endAt])].map(at => `${lastAt - at} ms`)
    problems.add(
      end === 'open' ? 'open and lost' : 'lost',
      `${span.key}, told ${ages.join(' and ')} before the last line`,
    )
    return
  }
  if (new Set(received.map(({ spanId }) => spanId)).size > 1) problems.add('two spans for one', span.key)
  for (const found of received) {
    const mark = found.attributes['hermes.span.incomplete']
    const isMarked = openAs?.includes(String(mark)) === true
    if (found.startTimeUnixNano !== nanos(span.startAt)) {
      problems.add('wrong start', `${span.key}: ${found.startTimeUnixNano}, not ${nanos(span.startAt)}`)
    }
    if (isMarked && end !== 'certain') checkOpen(span, found, problems)
    else if (isAnswered && found.attributes['hermes.turn.final_status'] === 'completed') continue
    else if (end === 'open') problems.add('was open, but is not marked', `${span.key}: ${String(mark)}`)
    else checkEnded(span, found, mark, problems)
  }
}

function checkOpen(span: ToldSpan, found: AcceptedSpan, problems: Problems): void {
  if (BigInt(found.endTimeUnixNano) < BigInt(found.startTimeUnixNano)) {
    problems.add('ends before it starts', `${span.key}: ${found.endTimeUnixNano}`)
  }
  const mark = found.attributes['hermes.span.incomplete']
  const status = found.attributes['hermes.turn.final_status']
  if (mark === 'crashed' && span.key.startsWith('session ') && status !== 'crashed') {
    problems.add('root without its final status', `${span.key}: ${String(status)}`)
  }
}

function checkEnded(span: ToldSpan, found: AcceptedSpan, mark: unknown, problems: Problems): void {
  if (mark !== (span.isCut ? 'turn_ended' : undefined)) problems.add('wrongly marked', `${span.key}: ${String(mark)}`)
  if (found.endTimeUnixNano !== nanos(span.endAt ?? 0)) {
    problems.add('wrong end', `${span.key}: ${found.endTimeUnixNano}, not ${nanos(span.endAt ?? 0)}`)
  }
}

/** Parents start first, so a span that must be there has a parent that must be there. */
function checkParents(
  expectations: readonly Expectation[],
  received: ReadonlyMap<string, readonly AcceptedSpan[]>,
  { accepted }: Backend,
  problems: Problems,
): void {
  const traceOf = new Map(accepted.map(({ spanId, traceId }) => [spanId, traceId]))
  for (const { span, start, openAs } of expectations) {
    const found = received.get(span.key)?.[0]
    if (openAs === undefined || start === 'uncertain' || found?.parentSpanId === undefined) continue
    const trace = traceOf.get(found.parentSpanId)
    if (trace === undefined) problems.add('without its parent', span.key)
    else if (trace !== found.traceId) problems.add('in another trace than its parent', span.key)
  }
}

/** Returns for each repeat that is excused how long before the kill it was answered; the others are problems. */
function checkRepeats({ accepted, requests }: Backend, cuts: readonly Cut[], problems: Problems): number[] {
  const excuses: number[] = []
  const last = new Map<string, AcceptedSpan>()
  for (const span of accepted) {
    const earlier = last.get(span.spanId)
    last.set(span.spanId, span)
    if (earlier === undefined) continue
    const request = requests[earlier.request]
    if (!isDeepStrictEqual(bare(earlier), bare(span))) {
      problems.add('twice, and not the same', `${spanKey(span)}: ${difference(bare(earlier), bare(span))}`)
    } else if (request !== undefined && isUnnoted(request, cuts)) {
      const cutAt = cuts.find(({ name }) => isFrom(request, name))?.at ?? Number.NaN
      excuses.push(Math.max(0, cutAt - (request.answeredAt ?? Number.NaN)) || 0)
    } else {
      const after = cuts.map(cut => `${cut.at - (request?.answeredAt ?? Number.NaN)} ms`).join(', ')
      problems.add(
        'twice',
        `${spanKey(span)}: in request ${earlier.request} and in ${span.request}, cut after ${after}`,
      )
    }
  }
  return excuses
}

interface Cut {
  readonly name: string
  readonly at: number
  readonly savedUntil: number
}

/** What was on its way when its sender was killed arrives later. */
function isUnnoted(request: ChaosRequest, cuts: readonly Cut[]): boolean {
  const { answeredAt } = request
  if (answeredAt === undefined) return true
  return cuts.some(
    ({ name, at, savedUntil }) => isFrom(request, name) && answeredAt >= Math.min(at - UNNOTED_MILLIS, savedUntil),
  )
}

function isFrom({ headers }: ChaosRequest, name: string): boolean {
  return headers[SENDER_HEADER] === name
}

function bare({ request: _request, acceptedAt: _acceptedAt, ...span }: AcceptedSpan): Record<string, unknown> {
  return span
}

function difference(one: Record<string, unknown>, other: Record<string, unknown>): string {
  const differing = Object.keys(one).filter(key => !isDeepStrictEqual(one[key], other[key]))
  return differing.map(key => `${key} ${JSON.stringify(one[key])} ≠ ${JSON.stringify(other[key])}`).join(', ')
}

function nanos(millis: number): string {
  return `${millis}000000`
}

/** Lines by what is wrong, few of each. */
class Problems {
  readonly #found = new Map<string, string[]>()

  add(what: string, where: string): void {
    this.#found.set(what, [...(this.#found.get(what) ?? []), where])
  }

  get lines(): string[] {
    return [...this.#found].flatMap(([what, places]) => [
      ...places.slice(0, SHOWN_PROBLEMS).map(place => `${what}: ${place}`),
      ...(places.length > SHOWN_PROBLEMS ? [`${what}: ${places.length - SHOWN_PROBLEMS} more`] : []),
    ])
  }
}

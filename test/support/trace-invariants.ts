import { expect } from 'vitest'
import type { MetricSample, StoredSpan, TestPlugin } from '../../src/testing.ts'
import { conversationOf } from './expected-span.ts'

export function total(samples: readonly MetricSample[], name: string): number {
  return samples.filter(sample => sample.name === name).reduce((sum, { value }) => sum + value, 0)
}

function kindOf(span: StoredSpan): string {
  return String(span.attributes['hermes.span.kind'])
}

/**
 * What a span is, for those that have a name of their own: no two may be the same. A root has none: a late record can end
 * its turn too early, and what follows needs one again.
 */
function identityOf(span: StoredSpan): string | undefined {
  const { attributes } = span
  const kind = kindOf(span)
  const own: Record<string, unknown> = {
    llm: span.startAt,
    // Without a number, a failed attempt and the next one are told apart by their status.
    api: `${attributes['hermes.api.call_count']} ${attributes['hermes.api.attempt'] ?? span.status}`,
    tool: attributes['gen_ai.tool.call.id'],
    subagent: attributes['hermes.subagent.child_session_id'],
    // A tool may ask for more than one thing.
    approval: `${attributes['gen_ai.tool.call.id']} ${span.name}`,
    hook: attributes['gen_ai.tool.call.id'] && `${attributes['gen_ai.tool.call.id']} ${span.name}`,
    skill: span.name,
    auxiliary: span.name,
  }
  const turn = attributes['hermes.turn.id']
  if (own[kind] === undefined || turn === undefined) return undefined
  return `${turn} ${kind} ${own[kind]}`
}

/** As `expect`, which costs more than all else when it is asked of every span of so many sequences. */
function claim(holds: boolean, text: string): void {
  if (!holds) throw new Error(text)
}

/** What holds for the spans of a plugin that was shut down, whatever it was told. */
export function expectSoundTree(spans: readonly StoredSpan[]): void {
  const byId = new Map(spans.map(span => [span.spanId, span]))
  expect(byId.size, 'span ids are unique').toBe(spans.length)
  for (const span of spans) {
    claim(span.startAt <= span.endAt, `${span.name} starts before it ends`)
    expectNoCircle(span, byId)
    if (span.status === 'error') expect(span.attributes['error.type'], `${span.name} says what failed`).toBeDefined()
    if (span.parentSpanId === undefined) continue
    const parent = byId.get(span.parentSpanId)
    claim(parent !== undefined, `${span.name} has a parent that was ended`)
    claim(parent?.traceId === span.traceId, `${span.name} is in its parent's trace`)
    if (kindOf(span) !== 'session') continue
    claim((parent && kindOf(parent)) === 'subagent', 'only a delegation is the parent of a root')
  }
}

/** And when ids are what they should be: nobody is among strangers, nothing is there twice, and sums are right. */
export function expectSoundSpans(spans: readonly StoredSpan[]): void {
  expectSoundTree(spans)
  const byId = new Map(spans.map(span => [span.spanId, span]))
  for (const span of spans) {
    const parent = byId.get(span.parentSpanId ?? '')
    if (parent !== undefined) expectAmongItsOwn(span, parent)
  }
  expectNoTwice(spans)
}

function expectAmongItsOwn(span: StoredSpan, parent: StoredSpan): void {
  const [session, parentSession] = [span.attributes['session.id'], parent.attributes['session.id']]
  claim(session === parentSession, `${span.name}: a trace belongs to one session`)
  const owner = conversationOf(span.attributes['hermes.session.id'])
  const parentOwner = conversationOf(parent.attributes['hermes.session.id'])
  if (kindOf(span) === 'session') {
    claim(parent.attributes['hermes.subagent.child_session_id'] === owner, `${span.name} is of another delegation`)
    return
  }
  // An approval may name its turn only; the turn is what the rest of it goes by then.
  const isForeign = owner !== '' && parentOwner !== '' && owner !== parentOwner
  claim(!isForeign, `${span.name} is in a foreign session`)
  const { 'hermes.turn.id': turn } = span.attributes
  const { 'hermes.turn.id': parentTurn } = parent.attributes
  // A turn that was opened without an id may end before any record has brought one.
  claim(turn === undefined || parentTurn === undefined || parentTurn === turn, `${span.name} is in a foreign turn`)
}

function expectNoCircle(span: StoredSpan, byId: ReadonlyMap<string, StoredSpan>): void {
  const seen = new Set<string>()
  for (let at: StoredSpan | undefined = span; at !== undefined; at = byId.get(at.parentSpanId ?? '')) {
    claim(!seen.has(at.spanId), `${span.name} is its own ancestor`)
    seen.add(at.spanId)
  }
}

function expectNoTwice(spans: readonly StoredSpan[]): void {
  const seen = new Set<string>()
  for (const span of spans) {
    const identity = identityOf(span)
    if (identity === undefined) continue
    claim(!seen.has(identity), `drawn twice: ${identity}`)
    seen.add(identity)
  }
}

/** Every span that we had to end is counted under its reason, and nothing else is. */
export function expectCountedIncomplete(spans: readonly StoredSpan[], samples: readonly MetricSample[]): void {
  const drawn: Record<string, number> = {}
  for (const { attributes } of spans) {
    const reason = attributes['hermes.span.incomplete']
    if (typeof reason === 'string') drawn[reason] = (drawn[reason] ?? 0) + 1
  }
  const counted: Record<string, number> = {}
  for (const { name, labels, value } of samples) {
    if (name === 'hookspan.spans.incomplete') counted[labels['reason'] ?? ''] = value
  }
  expect(counted).toEqual(drawn)
}

/** Every record is counted once, nothing is open, nobody was bothered. */
export function expectAllAccounted(plugin: TestPlugin, samples: readonly MetricSample[], records: number): void {
  const { hooks, spansOpen, turnsOpen } = plugin.stats()
  expect(hooks.ok + hooks.ignored + hooks.duplicate + hooks.error).toBe(records)
  expect(hooks.error).toBe(0)
  expect(total(samples, 'hookspan.hooks')).toBe(records)
  expect({ spansOpen, turnsOpen }).toEqual({ spansOpen: 0, turnsOpen: 0 })
  expect(plugin.reported).toEqual([])
}

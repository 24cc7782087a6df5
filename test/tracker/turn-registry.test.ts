import { ROOT_CONTEXT } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { attributeOptionsOf } from '../../src/plugin/settings.ts'
import type { TrackedTurn } from '../../src/tracker/turn.ts'
import { slot } from '../../src/tracker/turn-history.ts'
import { TurnRegistry } from '../../src/tracker/turn-registry.ts'
import { resolved } from '../plugin/config/scratch-home.ts'
import { ids, openSpan, turnOf } from '../support/core-parts.ts'

const HOST = 'hermes'
const DRAW = attributeOptionsOf(resolved({}).config, () => undefined)

interface OpenOptions {
  readonly host?: string
  readonly isSide?: boolean
  readonly hasRoot?: boolean
}

function registryWith(): {
  registry: TurnRegistry
  open: (sessionId: string, turnId?: string, how?: OpenOptions) => TrackedTurn
} {
  const registry = new TurnRegistry(DRAW)
  const open = (sessionId: string, turnId?: string, { host = HOST, ...how }: OpenOptions = {}): TrackedTurn => {
    const turn = turnOf(registry.session(ids({ host, sessionId })), turnId, how)
    registry.addTurn(turn)
    return turn
  }
  return { registry, open }
}

/** Ends a turn as the core does. */
function close(registry: TurnRegistry, turn: TrackedTurn, endAt: number, closedAt: number = endAt): void {
  registry.removeTurn(turn)
  registry.rememberEnded(turn, { anchor: ROOT_CONTEXT, endAt, closedAt, isSilent: false })
}

describe('the turn of a record', () => {
  test('is the turn of its session that it names', () => {
    const { registry, open } = registryWith()
    const [first, second] = [open('s1', 't1'), open('s1', 't2', { isSide: true })]
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't1' }), false)).toBe(first)
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't2' }), false)).toBe(second)
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't3' }), false)).toBeUndefined()
  })

  test('is the turn of its session if it names none', () => {
    const { registry, open } = registryWith()
    const main = open('s1', 't1')
    open('s1', 't2', { isSide: true })
    expect(registry.findOrIndex(ids({ sessionId: 's1' }), false)).toBe(main)
  })

  test('is no turn of another session, host or name', () => {
    const { registry, open } = registryWith()
    open('s1', 't1')
    expect(registry.findOrIndex(ids({ sessionId: 's2' }), false)).toBeUndefined()
    expect(registry.findOrIndex(ids({ host: 'pi', sessionId: 's1', turnId: 't1' }), false)).toBeUndefined()
    expect(registry.findOrIndex(ids({ host: '', sessionId: 's1' }), false)).toBeUndefined()
  })

  test('is no turn whose ids concatenate to the same text', () => {
    const { registry, open } = registryWith()
    open('a\u0000b', 'c')
    expect(registry.findOrIndex(ids({ sessionId: 'a', turnId: 'b\u0000c' }), false)).toBeUndefined()
    expect(registry.findOrIndex(ids({ host: `${HOST}\u0000a`, sessionId: 'b', turnId: 'c' }), false)).toBeUndefined()
  })
})

describe('a turn that was opened without an id', () => {
  test('gets the first id of its session, and records it once', () => {
    const { registry, open } = registryWith()
    const turn = open('s1')
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't1' }), false)).toBe(turn)
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't1' }), false)).toBe(turn)
    expect(turn.turnId).toBe('t1')
    expect(turn.identity.toAttributes()).toEqual({ 'hermes.turn.id': 't1' })
    expect(turn.identity.size).toBe(1)
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't2' }), false)).toBeUndefined()
  })

  test('does not get the id of an ended turn', () => {
    const { registry, open } = registryWith()
    close(registry, open('s1', 't1'), 100)
    const next = open('s1')
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't1' }), false)).toBeUndefined()
    expect(next.turnId).toBeUndefined()
    expect(registry.findOrIndex(ids({ sessionId: 's1', turnId: 't2' }), false)).toBe(next)
  })

  test('gets none from a look-up', () => {
    const { registry, open } = registryWith()
    const turn = open('s1')
    expect(registry.find(ids({ sessionId: 's1', turnId: 'guess' }))).toBeUndefined()
    expect(turn.turnId).toBeUndefined()
    expect(turn.identity.size).toBe(0)
  })
})

describe('a session whose id was rotated', () => {
  test('is found by its turn, and then by its new id', () => {
    const { registry, open } = registryWith()
    const turn = open('s1', 't1')
    expect(registry.findOrIndex(ids({ sessionId: 's2', turnId: 't1' }), false)).toBe(turn)
    expect(registry.findOrIndex(ids({ sessionId: 's2' }), false)).toBe(turn)
    registry.removeTurn(turn)
    expect(registry.findOrIndex(ids({ sessionId: 's2' }), false)).toBeUndefined()
  })

  test('is not indexed by a look-up', () => {
    const { registry, open } = registryWith()
    const turn = open('s1', 't1')
    expect(registry.find(ids({ sessionId: 's2', turnId: 't1' }))).toBeUndefined()
    expect(registry.knownSession(ids({ sessionId: 's2' }))).toBeUndefined()
    expect(turn.sharedWith).toEqual([])
  })

  test('is not found by a record that begins a turn', () => {
    const { registry, open } = registryWith()
    open('s1', 't1')
    expect(registry.findOrIndex(ids({ sessionId: 's2', turnId: 't1' }), true)).toBeUndefined()
  })

  test('is not found if two turns have that id', () => {
    const { registry, open } = registryWith()
    open('s1', 't1')
    open('s2', 't1')
    expect(registry.findOrIndex(ids({ sessionId: 's3', turnId: 't1' }), false)).toBeUndefined()
  })

  test('finds the ended turn under both ids', () => {
    const { registry, open } = registryWith()
    const turn = open('s1', 't1')
    registry.findOrIndex(ids({ sessionId: 's2', turnId: 't1' }), false)
    close(registry, turn, 100)
    for (const sessionId of ['s1', 's2']) {
      expect(registry.findEnded(ids({ sessionId, turnId: 't1' }), 500, false)?.turnId).toBe('t1')
    }
  })
})

describe('a record without a session', () => {
  test('is found by its turn, its task, its request or its call', () => {
    const { registry, open } = registryWith()
    const [one, other] = [open('s1', 't1'), open('s2', 't2')]
    one.taskId = 'k1'
    one.open.push(openSpan('tool', one, { slot: slot('tool', 'c1') }))
    other.open.push(openSpan('api', other, { slot: slot('api', 'r2') }))
    expect(registry.findOrIndex(ids({ turnId: 't1' }), false)).toBe(one)
    expect(registry.findOrIndex(ids({ taskId: 'k1' }), false)).toBe(one)
    expect(registry.findOrIndex(ids({ toolCallId: 'c1' }), false)).toBe(one)
    expect(registry.findOrIndex(ids({ apiRequestId: 'r2' }), false)).toBe(other)
  })

  test('is not found by an id that two turns share', () => {
    const { registry, open } = registryWith()
    for (const turn of [open('s1', 't1'), open('s2', 't2')])
      turn.open.push(openSpan('tool', turn, { slot: slot('tool', 'c1') }))
    expect(registry.findOrIndex(ids({ toolCallId: 'c1' }), false)).toBeUndefined()
  })

  test('joins the only open turn of its host without any id, and neither of two', () => {
    const { registry, open } = registryWith()
    const only = open('s1', 't1')
    open('p1', 't1', { host: 'pi' })
    expect(registry.findOrIndex(ids(), false)).toBe(only)
    open('s2', 't2')
    expect(registry.findOrIndex(ids(), false)).toBeUndefined()
  })

  test('does not join a turn without a root', () => {
    const { registry, open } = registryWith()
    open('s1', undefined, { isSide: true, hasRoot: false })
    expect(registry.findOrIndex(ids(), false)).toBeUndefined()
    const turn = open('s2', 't2')
    expect(registry.findOrIndex(ids(), false)).toBe(turn)
  })

  test('has a session of its own, one per turn or task', () => {
    const { registry } = registryWith()
    const unnamed = [ids({ turnId: 'x' }), ids({ taskId: 'x' }), ids()].map(one => registry.session(one))
    expect(new Set(unnamed).size).toBe(3)
    expect(registry.session(ids({ turnId: 'x' }))).toBe(unnamed[0])
    expect(registry.knownSession(ids({ sessionId: 'turn x' }))).toBeUndefined()
  })
})

describe('an ended turn', () => {
  test('is found by its id, however late, and by its session up to its end', () => {
    const { registry, open } = registryWith()
    close(registry, open('s1', 't1'), 100)
    expect(registry.findEnded(ids({ sessionId: 's1', turnId: 't1' }), 9999, false)?.endAt).toBe(100)
    expect(registry.findEnded(ids({ sessionId: 's1' }), 100, false)?.endAt).toBe(100)
    expect(registry.findEnded(ids({ sessionId: 's1' }), 101, false)).toBeUndefined()
    expect(registry.findEnded(ids({ sessionId: 's2', turnId: 't1' }), 100, false)).toBeUndefined()
  })

  test('is not continued by a later record with the same id that begins one', () => {
    const { registry, open } = registryWith()
    close(registry, open('s1', 't1'), 100)
    expect(registry.findEnded(ids({ sessionId: 's1', turnId: 't1' }), 101, true)).toBeUndefined()
    expect(registry.findEnded(ids({ sessionId: 's1', turnId: 't1' }), 99, true)).toBeDefined()
  })

  test('is dropped after its limit', () => {
    const { registry, open } = registryWith()
    close(registry, open('s1', 't1'), 100)
    close(registry, open('s1', 't2'), 200)
    registry.forgetEndedBefore(150)
    expect(registry.findEnded(ids({ sessionId: 's1', turnId: 't1' }), 0, false)).toBeUndefined()
    expect(registry.findEnded(ids({ sessionId: 's1', turnId: 't2' }), 0, false)).toBeDefined()
    registry.forgetEndedBefore(250)
    expect(registry.findEnded(ids({ sessionId: 's1' }), 0, false)).toBeUndefined()
  })

  test('is dropped after its limit, even if others are kept longer', () => {
    const { registry, open } = registryWith()
    const [swept, next] = [open('s1', 't1'), open('s2', 't2')]
    close(registry, swept, 100, 700)
    close(registry, next, 200)
    registry.forgetEndedBefore(300)
    registry.forgetEndedBefore(800)
    for (const [sessionId, turnId] of [
      ['s1', 't1'],
      ['s2', 't2'],
    ] as const) {
      expect(registry.findEnded(ids({ sessionId, turnId }), 0, false)).toBeUndefined()
    }
  })
})

test('counts open turns', () => {
  const { registry, open } = registryWith()
  const turns = [open('s1', 't1'), open('s1', 't2', { isSide: true }), open('p1', 't1', { host: 'pi' })]
  expect(registry.openCount).toBe(3)
  expect(new Set(registry.openTurns())).toEqual(new Set(turns))
  for (const turn of turns) {
    registry.removeTurn(turn)
    registry.removeTurn(turn)
  }
  expect(registry.openCount).toBe(0)
  expect([...registry.openTurns()]).toEqual([])
})

test('treats a torn-down session as new when its id is used again', () => {
  const { registry } = registryWith()
  const before = registry.session(ids({ sessionId: 's1' }))
  registry.forgetSession(before)
  expect(registry.knownSession(ids({ sessionId: 's1' }))).toBeUndefined()
  expect(registry.session(ids({ sessionId: 's1' }))).not.toBe(before)
})

test('bounds idle sessions, and keeps those with an open turn', () => {
  const { registry, open } = registryWith()
  const turn = open('busy', 't1')
  for (let session = 0; session < 5000; session += 1) registry.session(ids({ sessionId: `s${session}` }))
  expect(registry.findOrIndex(ids({ sessionId: 'busy' }), false)).toBe(turn)
  expect(registry.knownSession(ids({ sessionId: 's0' }))).toBeUndefined()
  expect(registry.knownSession(ids({ sessionId: 's4999' }))).toBeDefined()
})

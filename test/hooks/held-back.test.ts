import { expect, test } from 'vitest'
import { createHooks, defineHook, HostHooks, retry } from '../../src/hooks/index.ts'

function stopping(): { readonly stops: (attempt: number, sessionId?: string) => string; readonly lines: string[] } {
  const again = defineHook({ name: 'again', decides: ['retry'], afterTurn: () => retry({ feedback: 'More.' }) })
  const lines: string[] = []
  const hooks = new HostHooks({
    host: 'an-agent',
    hooks: createHooks([again]),
    able: { afterTurn: ['retry'] },
    report: line => lines.push(line),
  })
  const stops = (attempt: number, sessionId = 's1'): string => {
    const outcome = hooks.run('afterTurn', { sessionId }, { answer: 'Done.', attempt })
    return outcome instanceof Promise ? 'late' : outcome.decision
  }
  return { stops, lines }
}

test('an agent that says only that a turn has been held back is not held back for ever', () => {
  const { stops, lines } = stopping()
  expect([stops(0), stops(1), stops(1), stops(1), stops(1)]).toEqual(['retry', 'retry', 'retry', 'pass', 'pass'])
  expect(lines).toContain(
    'hookspan: an-agent: hook again wanted a retry in afterTurn for the 4th time; 3 are made at most',
  )
})

test('each turn has tries of its own, and so has each session', () => {
  const { stops } = stopping()
  expect([stops(0), stops(1), stops(1)]).toEqual(['retry', 'retry', 'retry'])
  expect(stops(1, 's2')).toBe('retry')
  expect([stops(0), stops(1), stops(1), stops(1)]).toEqual(['retry', 'retry', 'retry', 'pass'])
})

test('an agent that counts itself is believed', () => {
  const { stops } = stopping()
  expect([stops(0), stops(1), stops(2), stops(3)]).toEqual(['retry', 'retry', 'retry', 'pass'])
  expect(stops(3, 's2')).toBe('pass')
})

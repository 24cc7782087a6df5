import { describe, expect, test } from 'vitest'
import type { DisplayKind } from '../../src/reading/segments.ts'
import { SpanAttributes } from '../../src/reading/span-attributes.ts'
import { controlOutcome, outcomeOf } from '../../src/reading/span-outcome.ts'
import { storedSpans } from './sample-turn.ts'

function toldOf(kind: DisplayKind, own: Readonly<Record<string, string>>): string {
  const named = Object.entries({ 'span.kind': kind, ...own }).map(([name, value]) => [`hermes.${name}`, value])
  const attributes = Object.fromEntries(named)
  const [span] = storedSpans({ id: '1', name: 'x', from: 0, to: 1, attributes })
  if (span === undefined) throw new Error('no span')
  const said = controlOutcome(new SpanAttributes(span, 'hermes'))
  return said === undefined ? 'nothing' : `${said.tone} ${said.text}`
}

describe("a guard's span", () => {
  test.each([
    ['pass', 'ran', '', 'dim pass'],
    ['block', 'blocked', '', 'warn block'],
    ['rewrite', 'rewritten', '', 'dim rewrite'],
    ['inject', 'injected', '', 'dim inject'],
    ['retry', 'retried', '', 'warn retry'],
    ['ask', 'asked', '', 'warn ask'],
    ['failed', 'ran', 'timed_out', 'error failed: timed_out'],
    ['failed', 'ran', '', 'error failed'],
    // What became of it where that is something else.
    ['ask', 'blocked', '', 'warn ask, blocked'],
    ['rewrite', 'none', '', 'dim rewrite, not applied'],
    ['failed', 'blocked', 'threw', 'error failed: threw, blocked'],
    ['block', '', '', 'warn block'],
    ['perhaps', 'ran', '', 'nothing'],
    ['', '', '', 'nothing'],
  ])("shows %s and its host's action %s", (verdict, action, failure, said) => {
    expect(toldOf('hook', { 'hook.verdict': verdict, 'hook.action': action, 'hook.failure': failure })).toBe(said)
  })
})

describe('a failure', () => {
  test.each([
    ['error', 'tool_error', 'failed'],
    ['', 'tool_error', 'failed'],
    ['timeout', 'tool_error', 'timeout tool_error'],
    ['error', 'FileNotFoundError', 'FileNotFoundError'],
    ['timeout', 'ETIMEDOUT', 'timeout ETIMEDOUT'],
    ['error', '_OTHER', 'error'],
    ['error', '', 'error'],
  ])('with the outcome "%s" and the type "%s" is named once', (outcome, type, text) => {
    const attributes = { 'hermes.span.kind': 'tool', 'hermes.tool.outcome': outcome, 'error.type': type }
    const [span] = storedSpans({ id: '1', name: 'x', from: 0, to: 1, status: 2, attributes })
    expect(span && outcomeOf(new SpanAttributes(span, 'hermes'))).toEqual({ tone: 'error', text })
  })
})

describe('a tool', () => {
  test.each([
    ['blocked', 'no-rm', 'warn blocked by no-rm'],
    ['', 'no-rm', 'warn blocked by no-rm'],
    ['blocked', '', 'nothing'],
    ['completed', 'no-rm', 'nothing'],
    ['timeout', 'no-rm', 'nothing'],
  ])('shows the outcome %j, blocked by %j', (outcome, by, said) => {
    expect(toldOf('tool', { 'tool.outcome': outcome, 'tool.blocked_by': by })).toBe(said)
  })
})

test('has no such text otherwise', () => {
  expect(toldOf('api', { 'hook.verdict': 'block', 'tool.blocked_by': 'no-rm' })).toBe('nothing')
})

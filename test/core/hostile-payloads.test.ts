/** Whatever arrives: the host does not notice, the turn around it is drawn, and every record is counted once. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HOOK_NAMES, type HookMeta, type HookName } from '../../src/index.ts'
import { createTestPlugin, type StoredSpan, type TestPlugin } from '../../src/testing.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { START_AT } from '../support/feed.ts'
import { boom, HOSTILE_HOOKS, HOSTILE_TIMES, HOSTILE_VALUES, LARGE_VALUES, PAYLOAD_TEXT } from '../support/hostile-values.ts'
import { expectSoundSpans, total } from '../support/trace-invariants.ts'

// A record without a time is taken for one of now, and now must not be years after the others.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 }))
afterEach(() => void vi.useRealTimers())

const EVERYTHING = { capture_sender_id: true, capture_conversation_history: true } as const

/** A turn with every hook in it, in an order that makes sense. */
function scene(session: string): [HookName, Record<string, unknown>][] {
  const turn = { session_id: session, turn_id: `${session}.t` }
  const request = { ...turn, api_request_id: `${session}.r`, model: 'qwen3', provider: 'openai' }
  const call = { ...turn, tool_name: 'terminal', tool_call_id: `${session}.c`, args: { command: 'ls' } }
  const child = { parent_session_id: session, parent_turn_id: `${session}.t`, child_session_id: `${session}.child` }
  const side = { ...request, api_request_id: `${session}.side`, aux_task: 'title' }
  return [
    ['on_session_start', { session_id: session, model: 'qwen3' }],
    ['pre_llm_call', { ...turn, model: 'qwen3', user_message: 'hello' }],
    ['pre_auxiliary_call', side],
    ['post_auxiliary_call', side],
    ['pre_api_request', { ...request, retry_count: 0 }],
    ['api_request_error', { ...request, retry_count: 0, error: { type: 'Timeout' } }],
    ['pre_api_request', { ...request, retry_count: 1 }],
    ['post_api_request', { ...request, retry_count: 1, usage: { prompt_tokens: 1 } }],
    ['pre_tool_call', call],
    ['pre_approval_request', { ...call, pattern_key: 'ls' }],
    ['post_approval_response', { ...call, pattern_key: 'ls', choice: 'once' }],
    ['subagent_start', { ...child, child_role: 'leaf' }],
    ['subagent_stop', { ...child, child_role: 'leaf', child_status: 'ok' }],
    ['transform_tool_result', { ...call, result: 'ok' }],
    ['post_tool_call', { ...call, status: 'ok', result: 'done' }],
    ['transform_llm_output', { ...turn, response_text: 'hi' }],
    ['post_llm_call', { ...turn, model: 'qwen3', assistant_response: 'hi' }],
    ['on_session_end', { ...turn, completed: true }],
    ['on_session_reset', { old_session_id: session, new_session_id: `${session}.next` }],
    ['on_session_finalize', { session_id: `${session}.next` }],
  ]
}

type Spoil = (payload: Record<string, unknown>) => unknown

/** Tells a turn whose records of one hook are spoilt; returns what a host would have noticed. */
function tellSpoilt(plugin: TestPlugin, session: string, hook: HookName, spoil: Spoil, spoilMeta: object = {}): string[] {
  const noticed: string[] = []
  for (const [index, [name, payload]] of scene(session).entries()) {
    const isSpoilt = name === hook
    const meta = { at: START_AT + index, ...(isSpoilt ? spoilMeta : {}) } as HookMeta
    const before = counted(plugin)
    try {
      const returned: unknown = plugin.on(name, isSpoilt ? spoil(payload) : payload, meta)
      if (returned !== undefined && !(returned instanceof Promise)) noticed.push(`returned ${typeof returned}`)
    } catch (error) {
      noticed.push(`threw ${String(error)}`)
    }
    if (counted(plugin) !== before + 1) noticed.push(`counted ${counted(plugin) - before} times`)
  }
  return noticed
}

function counted(plugin: TestPlugin): number {
  const { ok, ignored, duplicate, error } = plugin.stats().hooks
  return ok + ignored + duplicate + error
}

const WORDS_OF_NO_VALUE = /\bundefined\b|\[object \w+\]|\bNone\b|\bNaN\b/

/** What is wrong with what was drawn. */
function oddities(span: StoredSpan): string[] {
  const events = span.events.map(event => [event.name, event.attributes] as const)
  const named = [[span.name, { 'status.message': span.statusMessage ?? 'none', ...span.attributes }] as const, ...events]
  return named.flatMap(([name, attributes]) => {
    const wrong = Object.entries(attributes).filter(([, value]) => !isPlain(value))
    const nameless = name === '' || !name.isWellFormed() || WORDS_OF_NO_VALUE.test(name) ? [`the name ${JSON.stringify(name)}`] : []
    return [...nameless, ...wrong.map(([key, value]) => `${name} ${key}=${JSON.stringify(value)?.slice(0, 100)}`)]
  })
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(element => typeof element === 'string' && isPlain(element))
  if (typeof value === 'string') return value !== '' && value.isWellFormed() && !WORDS_OF_NO_VALUE.test(value)
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

/** The loop and its root are there, whatever one of their fields held. */
function isDrawn(spans: readonly StoredSpan[], session: string): boolean {
  const kinds = new Map(spans.map(span => [span.spanId, span.attributes['hermes.span.kind']]))
  return spans.some(
    span =>
      span.attributes['hermes.turn.id'] === `${session}.t` &&
      span.attributes['hermes.span.kind'] === 'llm' &&
      kinds.get(span.parentSpanId ?? '') === 'session',
  )
}

async function expectAllWell(plugin: TestPlugin): Promise<void> {
  await plugin.shutdown()
  const spans = plugin.spans()
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  expect(spans.flatMap(oddities)).toEqual([])
  expectSoundSpans(spans)
  expect(total(await plugin.metrics(), 'hookspan.hooks')).toBe(counted(plugin))
  expectQuiet(plugin)
}

/** One line a cause, and none that says what was in a payload. */
function expectQuiet({ reported }: TestPlugin): void {
  expect(new Set(reported).size).toBe(reported.length)
  expect(reported.filter(line => line.includes(PAYLOAD_TEXT))).toEqual([])
  expect(reported.filter(line => line.includes('\n') || line.length > 500)).toEqual([])
}

const CASES = [...CONTRACT_FIELDS].map(([hook, fields]) => ({ hook, fields }))

describe.each(['preview', 'full'] as const)('content_capture: %s', content_capture => {
  test.each(CASES)('$hook: every field may be anything', async ({ hook, fields }) => {
    const noticed: string[] = []
    for (const field of fields) {
      const plugin = createTestPlugin({ host: 'agent', content_capture, ...EVERYTHING })
      for (const [index, { name, make }] of HOSTILE_VALUES.entries()) {
        const session = `s${index}`
        const value = make()
        const found = tellSpoilt(plugin, session, hook, payload => ({ ...payload, [field]: value }))
        noticed.push(...found.map(what => `${field} is ${name}: ${what}`))
        if (field.endsWith('_id') || isDrawn(plugin.spans(), session)) continue
        noticed.push(`${field} is ${name}: the loop is missing`)
      }
      await expectAllWell(plugin)
    }
    expect(noticed).toEqual([])
  }, 60_000)
})

import { expect } from 'vitest'
import type { HookMeta, HookName } from '../../src/index.ts'
import type { StoredSpan, TestPlugin } from '../../src/testing.ts'
import { START_AT } from './feed.ts'
import { expectSoundTree, total } from './trace-invariants.ts'

type Told = readonly [HookName, Record<string, unknown>]

/** What every turn has, and what goes with a hook: an end with its start, an approval or a guard with its tool. */
const FRAME = /^on_session_start$|llm|^on_session_end$/
const FAMILIES = [/api/, /tool|approval|control/, /subagent/, /auxiliary/, /reset|finalize/]

/** A turn with the hook in it, and no more than it takes. */
function sceneOf(hook: HookName, session: string): Told[] {
  const family = FAMILIES.find(pattern => pattern.test(hook))
  return scene(session).filter(([name]) => name === hook || FRAME.test(name) || family?.test(name))
}

/** A turn with every hook in it, in an order that makes sense. */
function scene(session: string): Told[] {
  const turn = { session_id: session, turn_id: `${session}.t` }
  const request = { ...turn, api_request_id: `${session}.r`, model: 'qwen3', provider: 'openai' }
  const call = { ...turn, tool_name: 'terminal', tool_call_id: `${session}.c`, args: { command: 'ls' } }
  const child = { parent_session_id: session, parent_turn_id: `${session}.t`, child_session_id: `${session}.child` }
  const guard = { ...call, hook_run_id: `${session}.h`, hook_name: 'no-rm', hook_phase: 'before_tool' }
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
    ['pre_control_hook', guard],
    ['post_control_hook', { ...guard, verdict: 'failed', action: 'ran', failure: 'threw' }],
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

export type Spoil = (payload: Record<string, unknown>) => unknown

/** Tells a turn whose records of one hook are spoilt; returns what a host would have noticed. */
export function tellSpoilt(
  plugin: TestPlugin,
  session: string,
  hook: HookName,
  spoil: Spoil,
  spoilMeta: object = {},
): string[] {
  const noticed: string[] = []
  let before = counted(plugin)
  for (const [index, [name, payload]] of sceneOf(hook, session).entries()) {
    const isSpoilt = name === hook
    const meta = { at: START_AT + index, ...(isSpoilt ? spoilMeta : {}) } as HookMeta
    try {
      const returned: unknown = plugin.emitUntyped(name, isSpoilt ? spoil(payload) : payload, meta)
      if (returned !== undefined && !(returned instanceof Promise)) noticed.push(`returned ${typeof returned}`)
    } catch (error) {
      noticed.push(`threw ${String(error)}`)
    }
    const after = counted(plugin)
    if (after !== before + 1) noticed.push(`counted ${after - before} times`)
    before = after
  }
  return noticed
}

export function counted(plugin: TestPlugin): number {
  const { ok, ignored, duplicate, error } = plugin.stats().hooks
  return ok + ignored + duplicate + error
}

/** No half of a character. */
const WELL_FORMED = /^(?:[\ud800-\udbff][\udc00-\udfff]|[^\ud800-\udfff])*$/
const WORDS_OF_NO_VALUE = /\bundefined\b|\[object \w+\]|\bNone\b|\bNaN\b/

/** What is wrong with what was drawn. */
function oddities(span: StoredSpan): string[] {
  const events = span.events.map(event => [event.name, event.attributes] as const)
  const named = [
    [span.name, { 'status.message': span.statusMessage ?? 'none', ...span.attributes }] as const,
    ...events,
  ]
  return named.flatMap(([name, attributes]) => {
    const wrong = Object.entries(attributes).filter(([, value]) => !isPlain(value))
    const nameless =
      name === '' || !WELL_FORMED.test(name) || WORDS_OF_NO_VALUE.test(name) ? [`the name ${JSON.stringify(name)}`] : []
    return [...nameless, ...wrong.map(([key, value]) => `${name} ${key}=${JSON.stringify(value)?.slice(0, 100)}`)]
  })
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(element => typeof element === 'string' && isPlain(element))
  if (typeof value === 'string') return value !== '' && WELL_FORMED.test(value) && !WORDS_OF_NO_VALUE.test(value)
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

/** Turns of which the loop is there, below its root. */
export function turnsDrawn(spans: readonly StoredSpan[]): Set<unknown> {
  const kinds = new Map(spans.map(span => [span.spanId, span.attributes['hermes.span.kind']]))
  const loops = spans.filter(({ attributes }) => attributes['hermes.span.kind'] === 'llm')
  const rooted = loops.filter(({ parentSpanId }) => kinds.get(parentSpanId ?? '') === 'session')
  return new Set(rooted.map(({ attributes }) => attributes['hermes.turn.id']))
}

/** @returns its spans, which are read from their lines at each call */
export async function expectAllWell(plugin: TestPlugin): Promise<readonly StoredSpan[]> {
  await plugin.shutdown()
  const spans = plugin.spans()
  expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  expect(spans.flatMap(oddities)).toEqual([])
  expectSoundTree(spans)
  expect(total(await plugin.metrics(), 'hookspan.hooks')).toBe(counted(plugin))
  expectQuiet(plugin)
  return spans
}

/** One short line a cause. */
function expectQuiet({ reported }: TestPlugin): void {
  expect(new Set(reported).size).toBe(reported.length)
  expect(reported.filter(line => line.includes('\n') || line.length > 500)).toEqual([])
}

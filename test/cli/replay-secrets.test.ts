import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { countOf } from '../../src/reading/human-figures.ts'
import { SECRETS } from '../content/redaction-corpus.ts'
import { type FedRecord, START_AT } from '../support/feed.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { asLines } from './generated-records.ts'
import { ScratchReplay } from './scratch-replay.ts'

let scratch: ScratchReplay
beforeEach(() => {
  scratch = new ScratchReplay()
})
afterEach(() => scratch.remove())

/** A turn that says it in every place where people, models and tools say something. */
function turnThatSays(text: string, index: number): FedRecord[] {
  const ids = { session_id: `s${index}`, turn_id: `t${index}`, model: 'm', provider: 'openai' }
  const request = { ...ids, api_request_id: `r${index}` }
  const failed = { ...ids, api_request_id: `f${index}` }
  const call = { ...request, tool_name: 'terminal', tool_call_id: `c${index}` }
  const guard = { ...call, hook_run_id: `h${index}`, hook_name: text, hook_phase: 'before_tool', verdict: 'failed' }
  const child = { parent_session_id: ids.session_id, parent_turn_id: ids.turn_id, child_session_id: `k${index}` }
  const steps: [string, object][] = [
    ['on_session_start', ids],
    ['pre_llm_call', { ...ids, user_message: text, conversation_history: [{ role: 'user', content: text }] }],
    ['pre_api_request', failed],
    ['api_request_error', { ...failed, status_code: 401, reason: text, error: { type: 'AuthError', message: text } }],
    ['pre_api_request', { ...request, system_prompt: text, request_messages: [{ role: 'user', content: text }] }],
    ['post_api_request', { ...request, finish_reason: 'tool_calls', response: { content: text } }],
    ['pre_tool_call', { ...call, args: { command: text, note: [text], path: text } }],
    ['pre_approval_request', { ...call, command: text, description: text, pattern_key: 'curl' }],
    ['post_approval_response', { ...call, choice: 'once', pattern_key: 'curl' }],
    ['pre_control_hook', guard],
    ['post_control_hook', { ...guard, reason: text, detail: text, failure_message: text, rewritten_fields: [text] }],
    ['post_tool_call', { ...call, status: 'error', result: { output: text }, error_type: 'E', error_message: text }],
    ['subagent_start', { ...child, child_role: 'helper', child_goal: text }],
    ['subagent_stop', { ...child, child_status: 'completed', child_summary: text }],
    ['post_llm_call', { ...ids, assistant_response: text }],
    ['on_session_end', { ...ids, completed: false, failed: true, turn_exit_reason: text }],
  ]
  return steps.map(([hook, payload], step) => ({ hook, at: START_AT + index * 1000 + step, payload }))
}

const SPANS_PER_TURN = 8
/** Shorter ones are found in anything. */
const LONG_SECRETS = sample(
  SECRETS.filter(({ secret }) => secret.length >= 12),
  60,
)

test.each(['preview', 'full'])(`writes nothing of a secret (%s), ${SAMPLED}`, async capture => {
  const records = LONG_SECRETS.flatMap(({ before, secret, after }, index) =>
    turnThatSays(before + secret + after, index),
  )
  const file = scratch.put('in.jsonl', asLines(records))
  const [out, metricsOut] = [scratch.path('o.jsonl'), scratch.path('m.jsonl')]
  const env = { HOOKSPAN_CONTENT_CAPTURE: capture, HOOKSPAN_CAPTURE_CONVERSATION_HISTORY: 'true' }
  const written = await scratch.replay([file, '--out', out, '--metrics-out', metricsOut], { env })
  const drawn = await scratch.replay([file], { env })
  expect(written.stderr).toContain(
    `${countOf(records.length, 'record')} → ${countOf(LONG_SECRETS.length * SPANS_PER_TURN, 'span')}`,
  )
  const everything = [
    readFileSync(out, 'utf8'),
    readFileSync(metricsOut, 'utf8'),
    written.stderr,
    drawn.stdout,
    drawn.stderr,
  ]
  for (const { what, secret } of LONG_SECRETS) {
    const spelled = JSON.stringify(secret).slice(1, -1)
    for (const text of everything) expect(text.includes(secret) || text.includes(spelled), what).toBe(false)
  }
  // That a turn says something at all.
  expect(everything[0]?.includes('[REDACTED]')).toBe(true)
})

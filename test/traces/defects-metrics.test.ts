/** The defects that the Python plugin was found to have, the last of them: what its metrics say. */
import { expect, test } from 'vitest'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { told } from '../support/feed.ts'
import { answered, asked, began, series, seriesText, TURN, used } from './scenes.ts'

test('never uses an id as a label, and gives every histogram its buckets', async () => {
  const ids = ['session-id-1', 'turn-id-1', 'request-id-1', 'call-id-1', 'sender-1']
  const [session_id, turn_id, api_request_id, tool_call_id, sender_id] = ids
  const all = { session_id, turn_id, api_request_id, tool_call_id, sender_id, task_id: 'call-id-1' }
  const plugin = told([
    ...began(all),
    ...asked(100, all, { usage: { prompt_tokens: 1 } }),
    ...used(250, all),
    [310, 'pre_approval_request', { ...all, pattern_key: 'rm' }],
    [320, 'post_approval_response', { ...all, pattern_key: 'rm', choice: 'once' }],
    ...answered(400, all),
  ])
  expect(JSON.stringify(await plugin.metrics())).not.toMatch(new RegExp(ids.join('|')))
  for (const row of Object.values(INSTRUMENTS)) {
    if (row.kind === 'histogram') expect(row.buckets?.length).toBeGreaterThan(5)
  }
})

test('keeps tokens in counters of their own, so that no sum over a label counts twice', async () => {
  const usage = { prompt_tokens: 100, output_tokens: 50, cache_read_tokens: 30, reasoning_tokens: 20 }
  const plugin = told([...began(), ...asked(100, {}, { usage })])
  for (const [kind, value] of [
    ['input', 100],
    ['output', 50],
    ['cache_read', 30],
    ['reasoning', 20],
  ] as const) {
    expect(await seriesText(plugin, `hermes.tokens.${kind}`)).toEqual([
      `model=qwen3 provider=openai part=own → ${value}`,
    ])
  }
  expect(await series(plugin, 'hermes.tokens.cache_write')).toEqual([])
})

test('records all metrics without any span', async () => {
  const steps = [...began(), ...asked(100, {}, { usage: { prompt_tokens: 5 } }), ...used(250), ...answered(400)]
  const plugin = told(steps, { sample_rate: 0 })
  const shown = (samples: Awaited<ReturnType<typeof plugin.metrics>>) =>
    samples.map(({ name, labels, value }) => ({ name, labels, value }))
  expect(plugin.spans()).toEqual([])
  expect(shown(await plugin.metrics())).toEqual(shown(await told(steps).metrics()))
})

test('counts received, truncated and open items as metrics', async () => {
  const plugin = told([...began(), [50, 'on_coffee_break', {}], [60, 'on_session_end', { ...TURN, interrupted: true }]])
  expect(await seriesText(plugin, 'hookspan.hooks')).toEqual([
    'hook=on_session_end result=ok → 1',
    'hook=on_session_start result=ok → 1',
    'hook=pre_llm_call result=ok → 1',
    'hook=unknown result=ignored → 1',
  ])
  expect(await seriesText(plugin, 'hookspan.spans.incomplete')).toEqual(['reason=turn_ended → 1'])
  expect(await seriesText(plugin, 'hookspan.spans.open')).toEqual(['→ 0'])
})

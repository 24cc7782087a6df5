/** What a turn cost: on its requests, summed on its root, and in the metric. */
import { expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  childTurn,
  delegated,
  only,
  series,
  seriesText,
  TURN,
} from './scenes.ts'

const GPT = { model: 'gpt-4o', provider: 'openai' }
const USAGE = { prompt_tokens: 10_000, output_tokens: 1000 }
const PRICES = { 'mine/*': { input: 1, output: 2 } } as const

function costOf(span: { readonly attributes: Readonly<Record<string, unknown>> }): unknown {
  const named = Object.entries(span.attributes).filter(([name]) => /cost/.test(name))
  return Object.fromEntries(named.map(([name, value]) => [name.replace(/^hermes\./, ''), value]))
}

function sideCall(at: number, usage: object): Step[] {
  const call = { ...TURN, api_request_id: `aux-${at}`, aux_task: 'title', model: 'm', provider: 'mine' }
  return [
    [at, 'pre_auxiliary_call', call],
    [at + 5, 'post_auxiliary_call', { ...call, usage }],
  ]
}

test("prefers the provider's figure to the agent's, and that to a price", () => {
  const one = (end: object, prices: boolean | object = true) =>
    costOf(only(told([...began(), ...asked(30, GPT, end), ...answered(900)], { prices } as object), 'api.gpt-4o'))
  expect(one({ usage: { ...USAGE, cost: 0.5 }, cost: 0.25 })).toEqual({
    'llm.cost.total': 0.5,
    'cost.total': 0.5,
    'cost.source': 'provider',
  })
  expect(one({ usage: USAGE, cost: { total: 0.25 } })).toMatchObject({ 'cost.total': 0.25, 'cost.source': 'agent' })
  expect(one({ usage: USAGE, cost: 0 })).toEqual({
    'llm.cost.total': 0.035,
    'cost.total': 0.035,
    'cost.source': 'list',
    'cost.prices': expect.stringContaining('genai-prices'),
  })
  expect(one({ usage: USAGE, response_model: 'gpt-4o-2024-08-06' })).toMatchObject({ 'cost.model': 'gpt-4o' })
  expect(one({ usage: USAGE }, false)).toEqual({})
  expect(one({}, true)).toEqual({})
})

test("sums a turn's own requests, side calls and child agents, and counts unknown costs", async () => {
  const plugin = told(
    [
      ...began(),
      ...asked(30, GPT, { usage: USAGE }),
      ...asked(140, { api_request_id: 'r2', model: 'unheard-of' }, { usage: USAGE }),
      ...sideCall(250, { prompt_tokens: 1_000_000, output_tokens: 500_000 }),
      delegated(260),
      ...childTurn(270, 'C', 'ct1', { prompt_tokens: 20, output_tokens: 5 }),
      [400, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
      ...answered(900),
    ],
    { prices: { ...PRICES, small: { input: 1_000_000, output: 0 } } },
  )
  const [child, root] = all(plugin, 'agent')
  expect(costOf(child!)).toEqual({ 'turn.cost.total': 20 })
  expect(costOf(root!)).toEqual({ 'turn.cost.total': 22.035, 'turn.cost.unknown_count': 1 })
  expect(await seriesText(plugin, 'hermes.cost')).toEqual([
    expect.stringMatching(/^model=gpt-4o provider=openai agent=\S+ → 0\.035$/),
    expect.stringMatching(/^model=m provider=mine agent=\S+ → 2$/),
    expect.stringMatching(/^model=small provider=unknown agent=\S+ → 20$/),
  ])
  expect(plugin.reported).toEqual([expect.stringContaining('prices: none is known for unheard-of of openai')])
})

test('sets no attributes for a turn without figures if no prices are configured', () => {
  const plugin = told([...began(), ...asked(30, GPT, { usage: USAGE }), ...answered(900)])
  expect(costOf(only(plugin, 'agent'))).toEqual({})
})

test('prices one-hour cache writes and service tiers as the provider bills them', () => {
  const claude = { model: 'claude-sonnet-4-5', provider: 'anthropic' }
  const usage = {
    input_tokens: 1000,
    output_tokens: 100,
    cache_creation_input_tokens: 2000,
    cache_read_input_tokens: 3000,
    cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 1500 },
  }
  const steps = [...began(), ...asked(30, claude, { usage, service_tier: 'priority' }), ...answered(900)]
  const prices = { 'anthropic/*': { service_tiers: { priority: 2 } } }
  // 1000 × 3 + 100 × 15 + 500 × 3.75 + 1500 × 6 + 3000 × 0.3, in millionths, and twice that.
  expect(attributes(told(steps, { prices }), 'api.claude-sonnet-4-5')['hermes.cost.total']).toBe(0.03255)
  expect(attributes(told(steps, { prices: true }), 'api.claude-sonnet-4-5')['hermes.cost.total']).toBeUndefined()
})

test('counts a late record of an ended turn as one of its agent', async () => {
  const paid = { cost: 0.25, usage: { prompt_tokens: 10 } }
  const labels = async (steps: readonly Step[]) =>
    (await series(told(steps, { host: 'my-agent' }), 'hermes.cost')).map(one => [one.labels, one.value])
  const only: Step = [
    150,
    'post_api_request',
    { ...TURN, api_request_id: 'r2', model: 'qwen3', provider: 'openai', ...paid },
  ]
  const onTime = await labels([...began(), ...asked(30, {}, paid), only, ...answered(300)])
  expect(await labels([...began(), ...answered(300), ...asked(30, {}, paid), only])).toEqual(onTime)
})

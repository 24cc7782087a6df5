/** What a turn used, by its parts: its own requests, its child agents', its side calls', and their sum. */
import { describe, expect, test } from 'vitest'
import type { StoredSpan, TestPlugin } from '../../src/testing.ts'
import { type Step, told } from '../support/feed.ts'
import { all, answered, asked, began, childTurn, delegated, seriesText, TURN } from './scenes.ts'

const USAGE = { prompt_tokens: 10, output_tokens: 1 }
const NAMES = ['tokens', 'subagent_tokens', 'auxiliary_tokens', 'all_tokens'] as const

function sideCall(at: number, ids: object = TURN, usage: object = { prompt_tokens: 3, output_tokens: 2 }): Step[] {
  const call = { ...ids, api_request_id: `aux-${at}`, aux_task: 'title', model: 'tiny', provider: 'openai' }
  return [
    [at, 'pre_auxiliary_call', call],
    [at + 5, 'post_auxiliary_call', { ...call, usage }],
  ]
}

function stopped(at: number, child = 'C'): Step {
  return [at, 'subagent_stop', { child_session_id: child, child_status: 'completed' }]
}

function rootOf(plugin: TestPlugin, session = 's1'): StoredSpan {
  const [root, ...others] = all(plugin, 'agent').filter(span => span.attributes['hermes.session.id'] === session)
  if (root === undefined || others.length > 0) throw new Error(`one turn of ${session} was expected`)
  return root
}

/** Totals by the middle of their names. */
function totalsOf(root: StoredSpan): Record<string, unknown> {
  const named = NAMES.map(name => [name, root.attributes[`hermes.turn.${name}.total`]] as const)
  return Object.fromEntries(named.filter(([, total]) => total !== undefined))
}

function requestTokens(plugin: TestPlugin): number {
  const usages = plugin.spans().map(({ attributes }) => Number(attributes['llm.token_count.total'] ?? 0))
  return usages.reduce((sum, total) => sum + total, 0)
}

function childSteps(): [Step, Step, Step, Step, Step, Step] {
  return childTurn(110, 'C', 'ct1', USAGE) as ReturnType<typeof childSteps>
}

/** A child's turn with a side call in it, and a child of its own whose turn is `grandchild`. */
function family(grandchild: readonly Step[]): Step[] {
  const [begins, asks, request, answer, , ends] = childSteps()
  const again = { parent_session_id: 'C', parent_turn_id: 'ct1', child_session_id: 'G', child_role: 'leaf' }
  return [
    delegated(100),
    begins,
    asks,
    request,
    answer,
    ...sideCall(200, { session_id: 'C', turn_id: 'ct1' }),
    [250, 'subagent_start', again],
    ...grandchild,
    [600, 'on_session_end', ends[2] ?? {}],
    stopped(610),
  ]
}

describe('on the root', () => {
  test('has a name for each part, and for their sum', () => {
    const plugin = told([
      ...began(),
      ...asked(30, {}, { usage: USAGE }),
      ...sideCall(140),
      delegated(150),
      ...childTurn(160, 'C', 'ct1', { prompt_tokens: 20, output_tokens: 5 }),
      stopped(300),
      ...answered(900),
    ])
    expect(totalsOf(rootOf(plugin))).toEqual({
      tokens: 11,
      subagent_tokens: 25,
      auxiliary_tokens: 5,
      all_tokens: 41,
    })
    expect(rootOf(plugin).attributes).toMatchObject({
      'hermes.turn.tokens.input': 10,
      'hermes.turn.all_tokens.input': 33,
      'hermes.turn.all_tokens.output': 8,
    })
    expect(totalsOf(rootOf(plugin, 'C'))).toEqual({ tokens: 25, all_tokens: 25 })
  })

  test('has no attribute for an absent part', () => {
    expect(totalsOf(rootOf(told([...began(), ...answered(100)])))).toEqual({})
    expect(totalsOf(rootOf(told([...began(), ...sideCall(30), ...answered(100)])))).toEqual({
      auxiliary_tokens: 5,
      all_tokens: 5,
    })
  })

  test("adds a grandchild's sums to the child's over three levels", () => {
    const grandchild = [...childTurn(300, 'G', 'gt1', USAGE), stopped(420, 'G')]
    const plugin = told([...began(), ...asked(30, {}, { usage: USAGE }), ...family(grandchild), ...answered(900)])
    expect(totalsOf(rootOf(plugin, 'G'))).toEqual({ tokens: 11, all_tokens: 11 })
    expect(totalsOf(rootOf(plugin, 'C'))).toEqual({
      tokens: 11,
      subagent_tokens: 11,
      auxiliary_tokens: 5,
      all_tokens: 27,
    })
    expect(totalsOf(rootOf(plugin))).toEqual({ tokens: 11, subagent_tokens: 27, all_tokens: 38 })
    expect(requestTokens(plugin)).toBe(38)
  })

  test('adds a grandchild that ends after the child to the turn above both', () => {
    const [begins, ...goesOn] = childTurn(300, 'G', 'gt1', USAGE)
    const late = goesOn.map(([at, ...step]) => [at + 400, ...step] as Step)
    const plugin = told([...began(), ...family([begins as Step]), ...late, stopped(850, 'G'), ...answered(900)])
    expect(totalsOf(rootOf(plugin, 'C'))).toEqual({ tokens: 11, auxiliary_tokens: 5, all_tokens: 16 })
    expect(totalsOf(rootOf(plugin))).toEqual({ subagent_tokens: 27, all_tokens: 27 })
    expect(requestTokens(plugin)).toBe(27)
  })

  test('excludes a descendant that outlives all of them, and the root shows that it continues', () => {
    const [begins, asks, ...goesOn] = childSteps()
    const late = goesOn.map(([at, ...step]) => [at + 1000, ...step] as Step)
    const plugin = told([...began(), delegated(100), begins, asks, ...answered(900), ...late, stopped(1400)])
    expect(rootOf(plugin).attributes['hermes.turn.subagent_open_count']).toBe(1)
    expect(totalsOf(rootOf(plugin))).toEqual({})
    expect(totalsOf(rootOf(plugin, 'C'))).toEqual({ tokens: 11, all_tokens: 11 })
    expect(rootOf(plugin, 'C').attributes).not.toHaveProperty('hermes.turn.subagent_open_count')
  })

  test("adds a child's work after its own end to its parent", () => {
    const plugin = told([
      ...began(),
      delegated(100),
      ...childTurn(110, 'C', 'ct1', USAGE),
      ...sideCall(300, { session_id: 'C', turn_id: 'ct1' }),
      stopped(400),
      ...answered(900),
    ])
    expect(totalsOf(rootOf(plugin))).toEqual({ subagent_tokens: 16, all_tokens: 16 })
    expect(requestTokens(plugin)).toBe(16)
  })
})

describe('the parts in the metrics', () => {
  test('distinguishes the parts by a label, like the root', async () => {
    const grandchild = [...childTurn(300, 'G', 'gt1', USAGE), stopped(420, 'G')]
    const plugin = told([
      ...began(),
      ...asked(30, {}, { usage: USAGE }),
      ...sideCall(140),
      ...family(grandchild),
      ...answered(900),
    ])
    expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual([
      'model=qwen3 provider=openai part=own → 10',
      'model=small provider=unknown part=subagent → 20',
      'model=tiny provider=openai part=auxiliary → 3',
      'model=tiny provider=openai part=subagent → 3',
    ])
  })

  test('distinguishes them for a request that ends after its child did', async () => {
    const [begins, asks, request, answer, , ends] = childSteps()
    const late: Step = [800, 'post_api_request', answer[2] ?? {}]
    const plugin = told([...began(), delegated(100), begins, asks, request, ends, late])
    expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual(['model=small provider=unknown part=subagent → 10'])
  })

  test('includes the tokens of a failed side call, if it reports any', async () => {
    const [pre, [, , call] = []] = sideCall(100)
    const plugin = told([
      ...began(),
      pre as Step,
      [110, 'post_auxiliary_call', { ...call, error_type: 'QuotaError' }],
      ...answered(300),
    ])
    expect(totalsOf(rootOf(plugin))).toEqual({ auxiliary_tokens: 5, all_tokens: 5 })
    expect(requestTokens(plugin)).toBe(5)
    expect(await seriesText(plugin, 'hermes.tokens.input')).toEqual(['model=tiny provider=openai part=auxiliary → 3'])
    expect(await seriesText(plugin, 'hermes.tokens.output')).toEqual(['model=tiny provider=openai part=auxiliary → 2'])
  })
})

/** What is read out of a record: usage in every spelling, skills in every form. */
import { describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, only, series, TURN, used } from './scenes.ts'

interface Canonical {
  readonly input: number
  readonly output: number
  readonly read?: number
  readonly write?: number
  readonly reasoning?: number
}

describe('cost', () => {
  const costOf = (cost: unknown): unknown =>
    attributes(told([...began(), ...asked(100, {}, { cost }), ...answered(300)]), 'api.qwen3')['llm.cost.total']

  test.each<[string, unknown, number | undefined]>([
    ['a number of dollars', 0.0183, 0.0183],
    ['parts and their total', { input: 0.01, output: 0.008, total: 0.018 }, 0.018],
    ['zero, which hosts say of a price that they do not know', 0, undefined],
    ['a zero total', { total: 0 }, undefined],
    ['less than nothing', -1, undefined],
    ['text that is a number', '0.01', 0.01],
    ['other text', 'cheap', undefined],
    ['nothing', undefined, undefined],
  ])('is read from %s', (_name, told, drawn) => expect(costOf(told)).toBe(drawn))

  test('is on the request alone, so that a sum over the spans has it once', () => {
    const plugin = told([...began(), ...asked(100, {}, { cost: 0.5 }), ...answered(300)])
    expect(plugin.spans().filter(span => 'llm.cost.total' in span.attributes)).toHaveLength(1)
  })
})

describe('usage', () => {
  test.each<[string, object, Canonical]>([
    [
      'Hermes: input without the cache, and the whole prompt beside it',
      {
        input_tokens: 612,
        output_tokens: 148,
        cache_read_tokens: 1228,
        cache_write_tokens: 0,
        reasoning_tokens: 64,
        prompt_tokens: 1840,
        total_tokens: 1988,
      },
      { input: 1840, output: 148, read: 1228, reasoning: 64 },
    ],
    [
      'Hermes: input without the cache, and nothing beside it',
      { input_tokens: 612, output_tokens: 148, cache_read_tokens: 1228, cache_write_tokens: 60 },
      { input: 1900, output: 148, read: 1228, write: 60 },
    ],
    [
      'Anthropic: cache outside the input',
      { input_tokens: 14, output_tokens: 96, cache_creation_input_tokens: 1066, cache_read_input_tokens: 10 },
      { input: 1090, output: 96, read: 10, write: 1066 },
    ],
    [
      'OpenAI chat: cache inside the prompt',
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 8 },
      },
      { input: 100, output: 20, read: 40, reasoning: 8 },
    ],
    [
      'OpenAI responses: cache inside the input',
      {
        input_tokens: 100,
        output_tokens: 20,
        total_tokens: 120,
        input_tokens_details: { cached_tokens: 40 },
        output_tokens_details: { reasoning_tokens: 8 },
      },
      { input: 100, output: 20, read: 40, reasoning: 8 },
    ],
    [
      'AI SDK: camel case, cache inside',
      { inputTokens: 100, outputTokens: 20, totalTokens: 120, cachedInputTokens: 40, reasoningTokens: 8 },
      { input: 100, output: 20, read: 40, reasoning: 8 },
    ],
    ['AI SDK, older', { promptTokens: 100, completionTokens: 20, totalTokens: 120 }, { input: 100, output: 20 }],
    [
      'Pi: short names, cache outside',
      { input: 14, output: 96, cacheRead: 10, cacheWrite: 1066, totalTokens: 1186 },
      { input: 1090, output: 96, read: 10, write: 1066 },
    ],
    ['numbers that are text', { prompt_tokens: '100', output_tokens: ' 20 ' }, { input: 100, output: 20 }],
    [
      'the prompt wins over the input',
      { prompt_tokens: 100, input_tokens: 7, output_tokens: 1 },
      { input: 100, output: 1 },
    ],
    ['a total that is wrong', { prompt_tokens: 100, output_tokens: 20, total_tokens: 999 }, { input: 100, output: 20 }],
    [
      'reasoning is not added to a total',
      { prompt_tokens: 100, output_tokens: 80, reasoning_tokens: 60 },
      { input: 100, output: 80, reasoning: 60 },
    ],
    ['output only', { output_tokens: 20 }, { input: 0, output: 20 }],
    [
      'garbage beside numbers',
      { prompt_tokens: 100, output_tokens: true, cache_read_tokens: 'many', reasoning_tokens: {} },
      { input: 100, output: 0 },
    ],
  ])('is read from %s', (_what, usage, expected) => {
    const plugin = told([...began(), ...asked(100, {}, { usage }), ...answered(300)])
    const told_ = attributes(plugin, 'api.qwen3')
    expect({
      input: told_['gen_ai.usage.input_tokens'],
      output: told_['gen_ai.usage.output_tokens'],
      read: told_['gen_ai.usage.cache_read.input_tokens'],
      write: told_['gen_ai.usage.cache_creation.input_tokens'],
      reasoning: told_['gen_ai.usage.reasoning.output_tokens'],
    }).toEqual({ read: undefined, write: undefined, reasoning: undefined, ...expected })
    const total = expected.input + expected.output
    expect(told_['llm.token_count.total']).toBe(total)
    expect(attributes(plugin, 'agent')['hermes.turn.tokens.total']).toBe(total)
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['zeros', { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, total_tokens: 0 }],
    ['booleans', { prompt_tokens: true, output_tokens: true }],
    ['words', { prompt_tokens: 'many', output_tokens: '' }],
    ['no object', 'lots'],
    ['no finite numbers', { prompt_tokens: Number.NaN, output_tokens: Number.POSITIVE_INFINITY }],
    ['negative numbers', { prompt_tokens: -5, output_tokens: -1 }],
  ])('ignores %s', async (_what, usage) => {
    const plugin = told([...began(), ...asked(100, {}, { usage }), ...answered(300)])
    for (const name of Object.keys(attributes(plugin, 'api.qwen3'))) expect(name).not.toMatch(/usage|token_count/)
    for (const name of Object.keys(attributes(plugin, 'agent'))) expect(name).not.toMatch(/tokens/)
    expect(await series(plugin, 'gen_ai.client.token.usage')).toEqual([])
    expect(await series(plugin, 'hermes.tokens.input')).toEqual([])
  })
})

describe('skills', () => {
  function skillOf(start: object, end: object = {}) {
    const plugin = told([...began(), ...used(100, start, end), ...answered(300)])
    const tool = plugin.spans().find(span => span.attributes['hermes.span.kind'] === 'tool')
    const window = plugin.spans().find(span => span.attributes['hermes.span.kind'] === 'skill')
    return {
      name: tool?.attributes['hermes.skill.name'],
      source: tool?.attributes['hermes.skill.source'],
      window: window?.name,
    }
  }

  test.each<[object, string]>([
    [{ name: 'foo' }, 'foo'],
    [{ skill: 'foo' }, 'foo'],
    [{ skill_name: 'foo' }, 'foo'],
    [{ name: 'plugin:foo' }, 'foo'],
    [{ name: '/x/skills/foo/SKILL.md' }, 'foo'],
    [{ name: '/x/skills/foo' }, 'foo'],
  ])('loads a skill by skill_view: %o loads %s', (args, name) => {
    expect(skillOf({ tool_name: 'skill_view', args })).toEqual({ name, source: 'skill_view', window: `skill.${name}` })
  })

  test.each<[object, string]>([
    [{ path: '/x/skills/foo/SKILL.md' }, 'foo'],
    [{ file_path: 'skills/foo/references/a.md' }, 'foo'],
    [{ target: '~/.agent/skills/foo' }, 'foo'],
    [{ path: 'C:\\agent\\skills\\foo\\a.md' }, 'foo'],
    [{ path: '/x/skills/a_b-9/a.md' }, 'a_b-9'],
  ])('finds that %o is in a skill', (args, name) => {
    expect(skillOf({ args })).toEqual({ name, source: 'path_match', window: `skill.${name}` })
  })

  test.each<[object]>([
    [{ path: '/x/optional-skills/foo/a.md' }],
    [{ path: '/x/skillset/foo' }],
    [{ path: '/x/skills' }],
    [{ path: '/x/skills/' }],
    [{ path: '/x/skills/in valid/a.md' }],
    [{ url: 'http://host/skills/foo/' }],
    [{ command: 'cat /x/skills/foo/SKILL.md' }],
    ['/x/skills/foo/a.md' as unknown as object],
  ])('finds that %o is in none', args => {
    expect(skillOf({ args })).toEqual({ name: undefined, source: undefined, window: undefined })
  })

  test.each<[object]>([
    [{ status: 'error' }],
    [{ status: 'blocked' }],
    [{ status: undefined, result: { error: 'no such skill' } }],
  ])('opens no window after a load that ended with %o', end => {
    const found = skillOf({ tool_name: 'skill_view', args: { name: 'foo' } }, end)
    expect(found).toEqual({ name: 'foo', source: 'skill_view', window: undefined })
  })

  test.each<[string, object, string]>([
    ['completed', { completed: true }, 'completed'],
    ['failed', { failed: true }, 'failed'],
    ['interrupted', { interrupted: true }, 'interrupted'],
  ])('ends the window with a turn that %s', (_what, end, status) => {
    const load = used(100, { tool_name: 'skill_view', args: { name: 'foo' } })
    const plugin = told([...began(), ...load, [300, 'on_session_end', { ...TURN, ...end }]])
    expect(attributes(plugin, 'skill.foo')['hermes.skill.result_status']).toBe(status)
    expect(only(plugin, 'skill.foo')).toMatchObject({ status: 'ok', endAt: START_AT + 300 })
  })

  test('opens a window for the same skill in the next turn', () => {
    const load = (at: number, turn_id: string): Step[] =>
      used(at, { turn_id, tool_name: 'skill_view', args: { name: 'foo' } })
    const plugin = told([...began(), ...load(100, 't1'), ...answered(300)])
    feedSteps(plugin, [
      [400, 'pre_llm_call', { ...TURN, turn_id: 't2' }],
      ...load(500, 't2'),
      ...answered(600, { turn_id: 't2' }),
    ])
    expect(all(plugin, 'skill.foo')).toHaveLength(2)
  })
})

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratchHome } from '../live-host.ts'
import { type Answer, asksFor, asksForWeather, PARIS, ROME } from '../sdk-program.ts'
import { asksToDelete, live, lived, type Plan, withResearcher } from './agents.ts'

const VARIANTS: readonly (readonly [string, Plan])[] = [
  ['responses', { api: 'responses', streams: false, traced: true }],
  ['responses, streamed, processor alone', { api: 'responses', streams: true, traced: false }],
  ['chat completions, processor alone', { api: 'chat', streams: false, traced: false }],
  ['chat completions, streamed', { api: 'chat', streams: true, traced: true }],
]

const named = (scenario: string, variant: string): string => `${scenario}-${variant.replace(/[, ]+/g, '-')}`

describe.each(VARIANTS)('%s', (variant, plan) => {
  test('traces a tool', async () => {
    const { tree, results } = await lived(named('tool', variant), `a tool: ${variant}`, asksForWeather, plan)
    expect(results).toEqual([{ output: 'It is sunny.' }])
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces a model that fails for good', async () => {
    const fails: Answer = () => ({ status: 500, error: 'on fire' })
    const { trees, results } = await lived(named('fails', variant), `always 500: ${variant}`, fails, plan)
    expect(results).toEqual([{ thrown: '500 on fire' }])
    expect(trees).toHaveLength(1)
    // The host does not name the model of a request of the Responses API that has failed; the runner does.
    const isNamed = plan.api === 'chat' || plan.traced === true
    expect(trees[0]).toBe(
      `agent ERROR InternalServerError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
  llm${isNamed ? '.fake-1' : ''} OK
    api.${isNamed ? 'fake-1' : 'error'} ERROR InternalServerError [http.response.status_code=500]`,
    )
  })
})

test('traces parallel tools', async () => {
  const answer = asksFor([PARIS, ROME], 'Both are sunny.')
  const { tree, spans } = await lived('parallel', 'two calls of one tool at once', answer, {})
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  const inputs = spans.filter(span => span.name === 'tool.get_weather').map(span => span.attributes['input.value'])
  expect(inputs.toSorted()).toEqual(['{"city":"Paris"}', '{"city":"Rome"}'])
})

test('traces a 500 that the client repeats by itself as one request', async () => {
  const answer: Answer = ({ attempt }) => (attempt === 1 ? { status: 500 } : { text: 'Hello.' })
  const { tree } = await lived('retried', 'one 500, then success: the client repeats it unseen', answer, {})
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

test('traces a tool that fails', async () => {
  const answer = asksFor([{ name: 'read_file', arguments: { path: '/x' } }], 'Sorry.')
  const { tree } = await lived('tool-fails', 'a tool that throws', answer, {})
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

describe('an approval', () => {
  test('is traced if granted', async () => {
    const { tree, spans } = await lived('granted', 'a call that a person grants', asksToDelete, { choice: 'once' })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=approval]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
        approval.delete_file OK [hermes.approval.choice=once]
      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          tool.delete_file OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
    const roots = spans.filter(span => span.name === 'agent').toSorted((one, other) => one.startAt - other.startAt)
    expect(roots.map(root => root.attributes['session.id'])).toEqual(['conversation-1', 'conversation-1'])
    expect(roots[1]?.links).toMatchObject([{ spanId: roots[0]?.spanId }])
  })

  test('is traced if refused, streamed', async () => {
    const plan = { choice: 'deny', api: 'chat', streams: true } as const
    const { tree } = await lived('refused', 'a call that a person refuses, streamed', asksToDelete, plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=approval]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
        approval.delete_file OK [hermes.approval.choice=deny]
      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          tool.delete_file OK [hermes.tool.outcome=blocked]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('is traced if granted for good', async () => {
    const { tree } = await lived('granted-always', 'a tool that a person grants for good', asksToDelete, {
      choice: 'always',
    })
    expect(tree).toContain('approval.delete_file OK [hermes.approval.choice=always]')
  })

  test('is inferred without listeners, with its answer', async () => {
    const plan = { choice: 'deny', traced: false } as const
    const { tree } = await lived('refused-processor-alone', 'refused, without listeners', asksToDelete, plan)
    expect(tree).toContain('approval.delete_file OK (inferred) [hermes.approval.choice=deny]')
    expect(tree).toContain('tool.delete_file OK [hermes.tool.outcome=blocked]')
  })

  test('is traced in an agent that runs as a tool', async () => {
    const answer = withResearcher(asksToDelete)
    const { tree } = await lived('granted-in-child', 'a call of a child that a person grants', answer, {
      choice: 'once',
    })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=approval]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.research OK [hermes.tool.outcome=interrupted]
              subagent.researcher OK
                agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=approval]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
                      tool.get_weather OK [hermes.tool.outcome=completed]
                  approval.delete_file OK [hermes.approval.choice=once]
      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          tool.research OK [hermes.tool.outcome=completed]
            subagent.researcher OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
                llm.fake-1 OK
                  tool.delete_file OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('is traced if answered in another process', async () => {
    const home = scratchHome()
    const file = join(home, 'state.json')
    const asked = await live(asksToDelete, { saves: file }, home)
    expect(asked.results).toEqual([{ output: 'interrupted' }])
    const { results, trees } = await live(asksToDelete, { resumes: file, choice: 'once' }, home)
    expect(results).toEqual([{ output: 'Done.' }])
    expect(trees).toHaveLength(2)
    expect(trees[0]).toContain('approval.delete_file UNSET (incomplete: shutdown)')
    expect(trees[1]).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          approval.delete_file OK (inferred) [hermes.approval.choice=once]
          tool.delete_file OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })
})

test('traces an agent that runs as a tool', async () => {
  const { tree } = await lived('child', 'an agent as a tool', withResearcher(asksForWeather), {})
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.research OK [hermes.tool.outcome=completed]
            subagent.researcher OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
                    tool.get_weather OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

test('traces a handoff', async () => {
  const billing = asksFor([PARIS, ROME], 'Refunded.')
  const answer: Answer = request =>
    request.system.includes('billing') ? billing(request) : { toolCalls: [{ name: 'transfer_to_billing' }] }
  const { tree, spans } = await lived('handoff', 'one agent hands over to another', answer, {})
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
        subagent.billing OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  expect(new Set(spans.map(span => span.attributes['session.id']))).toEqual(new Set(['conversation-1']))
})

test('traces two prompts in one conversation', async () => {
  const { tree } = await lived('two-prompts', 'two prompts of one group', asksForWeather, { prompts: ['one', 'two'] })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

test('traces three runs at once, two of them in one conversation', async () => {
  const plan = { atOnce: true, prompts: ['one', 'two', 'three'], sessions: ['a', 'b', 'a'] }
  const { trees, results, spans } = await lived('at-once', 'three runs at once in one process', asksForWeather, plan)
  expect(results).toHaveLength(3)
  expect(trees).toHaveLength(3)
  expect(new Set(trees).size).toBe(1)
  const prompts = spans.filter(span => span.name === 'agent').map(span => span.attributes['input.value'])
  expect(prompts.toSorted()).toEqual(['one', 'three', 'two'])
})

test('traces a guardrail that trips', async () => {
  const { tree, results } = await lived('guardrail', 'an input guardrail trips', () => ({}), { guarded: true })
  expect(results).toMatchObject([{ thrown: expect.stringContaining('guardrail') }])
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=guardrail]
      llm.fake-1 OK"
  `)
})

test('traces too many turns', async () => {
  const answer: Answer = () => ({ toolCalls: [PARIS] })
  const { tree } = await lived('max-turns', 'a model that never stops calling', answer, {})
  expect(tree.split('\n')[0]).toMatchInlineSnapshot(
    `"agent ERROR max_turns [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=max_turns]"`,
  )
})

test.each([true, false])(
  'traces once if registered late, after another processor, and twice; with listeners: %s',
  async traced => {
    const { trees, ended } = await live(asksToDelete, { beside: true, choice: 'once', traced })
    expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('hookspan') })
    const inOrder = await live(asksToDelete, { choice: 'once', traced })
    expect(trees).toEqual(inOrder.trees)
  },
)

test('traces without spans for the run and its turns', async () => {
  const config = { tracing: { includeTaskAndTurnSpans: false } }
  const { tree } = await lived('no-task-spans', 'task and turn spans switched off', asksToDelete, {
    config,
    choice: 'once',
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=approval]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
      approval.delete_file OK [hermes.approval.choice=once]
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
      llm.fake-1 OK
        tool.delete_file OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

test('traces with content switched off', async () => {
  const config = { traceIncludeSensitiveData: false }
  const { tree, spans } = await lived('no-content', 'the host may not trace content', asksForWeather, {
    config,
    prompts: ['my secret'],
  })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17]"
  `)
  expect(JSON.stringify(spans)).not.toMatch(/my secret|Paris|sunny/)
})

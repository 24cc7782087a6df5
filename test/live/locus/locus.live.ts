import { describe, expect, test } from 'vitest'
import type { ModelToolCall } from '../../support/model-server.mjs'
import { type Answer, asksFor, asksForWeather, DELETE, delegates, PARIS, ROME } from '../sdk-program.ts'
import { lived, outlineOf } from './locus.ts'

const READ: ModelToolCall = { name: 'read_file', arguments: { path: '/x' } }
const BOOK: ModelToolCall = { name: 'book', arguments: { room: '1' } }
const SHELL: ModelToolCall = { name: 'shell', arguments: { command: 'rm -rf /' } }

describe('tools', () => {
  test('traces two at once, and one that fails', async () => {
    const answer = asksFor([ROME, PARIS, READ], 'Both are sunny.')
    const { plugin, tree } = await lived('tools', 'two calls of one tool at once, and one that fails', answer)
    const [root] = plugin.spans().filter(({ name }) => name === 'agent')
    expect(root?.events.map(({ name, attributes }) => [name, attributes['hermes.iteration.number']])).toEqual([
      ['hermes.turn.iteration', 0],
      ['hermes.turn.iteration', 1],
    ])
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
            tool.get_weather OK [hermes.tool.outcome=completed]
            tool.read_file ERROR FileNotFoundError [hermes.tool.outcome=error]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one after the other', async () => {
    const answer = asksFor([ROME, PARIS], 'Both are sunny.')
    const { tree } = await lived('in-turn', 'two calls, executed in turn', answer, { execution: 'sequential' })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one refused by a hook', async () => {
    const plan = { hooks: ['policy'], cancels: 'delete_file' } as const
    const { tree } = await lived('cancelled-tool', 'a hook cancels a call', asksFor([DELETE, PARIS], 'Only one.'), plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.delete_file OK [hermes.tool.outcome=blocked]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one repeated by a hook', async () => {
    const plan = { hooks: ['policy'], repeats: 'get_weather' } as const
    const { tree } = await lived('repeated-tool', 'a hook has a call run again', asksForWeather, plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
            tool.get_weather OK (inferred) [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one changed by a hook', async () => {
    const plan = { hooks: ['policy'], rewrites: 'delete_file' } as const
    const { tree } = await lived(
      'changed-tool',
      'a hook changes arguments and result',
      asksFor([DELETE], 'Done.'),
      plan,
    )
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.delete_file OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces cached ones that do not run again', async () => {
    const { tree } = await lived(
      'idempotent',
      'an idempotent tool, called twice alike',
      asksFor([BOOK, BOOK], 'Booked.'),
    )
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.book OK [hermes.tool.outcome=completed]
            tool.book OK [hermes.tool.outcome=cached]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one refused by a guardrail, which ends the run', async () => {
    const plan = { hooks: ['guardrails'] } as const
    const { tree, results } = await lived(
      'guardrail',
      'a guardrail refuses a call',
      asksFor([PARIS, SHELL], 'Never.'),
      plan,
    )
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=GuardrailsHook]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=cancelled]
            tool.shell OK [hermes.tool.outcome=blocked]"
    `)
    expect(results).toEqual([{ thrown: 'ValueError' }])
  })
})

test('tags the turn of a prompt that a guardrail passes', async () => {
  const plan = { hooks: ['guardrails'], prompts: ['Mail a@example.org'] } as const
  const { plugin } = await lived('guarded', 'a guardrail warns of a prompt', () => ({ text: 'Done.' }), plan)
  expect(plugin.spans().find(({ name }) => name === 'agent')?.attributes['tag.tags']).toEqual([
    'guardrail:pii_email:warn',
  ])
})

test('fails the turn of a prompt that a guardrail refuses, without the prompt', async () => {
  const plan = { hooks: ['guardrails'], prompts: ['DROP TABLE users'] } as const
  const { tree, records } = await lived(
    'guarded-prompt',
    'a guardrail refuses a prompt',
    () => ({ text: 'Done.' }),
    plan,
  )
  expect(tree).toMatchInlineSnapshot(`
    "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=refused]
      llm.fake-1 OK"
  `)
  expect(JSON.stringify(records)).not.toContain('DROP TABLE')
})

describe('requests', () => {
  const fails: Answer = () => ({ status: 500, error: 'on fire' })
  const once: Answer = ({ attempt }) => (attempt === 1 ? { status: 503, error: 'busy' } : { text: 'Hello.' })

  test('traces failed ones', async () => {
    const { tree, results } = await lived('failed', 'always 500', fails)
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR InternalServerError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
        llm.fake-1 OK
          api.fake-1 ERROR InternalServerError [http.response.status_code=500]"
    `)
    expect(results).toEqual([{ thrown: 'InternalServerError' }])
  })

  test('traces one repeated by the loop', async () => {
    const { tree } = await lived('retried', 'one 503, then success', once, { retries: 2 })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          api.fake-1 ERROR InternalServerError [http.response.status_code=503]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one repeated by the loop in vain', async () => {
    const { tree } = await lived('retried-in-vain', 'always 500, with two retries', fails, { retries: 2 })
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR InternalServerError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
        llm.fake-1 OK
          api.fake-1 ERROR InternalServerError [http.response.status_code=500]
          api.fake-1 ERROR InternalServerError [http.response.status_code=500]
          api.fake-1 ERROR InternalServerError [http.response.status_code=500]"
    `)
  })

  test('traces one repeated by a hook', async () => {
    const answer: Answer = ({ attempt }) => ({ text: attempt === 1 ? 'Hm.' : 'Hello.' })
    const plan = { hooks: ['policy'], discards: 'Hm.' } as const
    const { tree } = await lived('discarded', 'a hook does not take the first answer', answer, plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]
          api.fake-1 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one with all texts', async () => {
    const plan = { is_full: true }
    const { plugin } = await lived('full', 'a tool, with whole conversations', asksForWeather, plan)
    const [first] = plugin.spans().filter(({ name }) => name === 'api.fake-1')
    expect(first?.attributes['gen_ai.input.messages']).toContain('What is up?')
    expect(first?.attributes['gen_ai.output.messages']).toContain('get_weather')
  })

  test('traces streamed ones', async () => {
    const { tree } = await lived('streamed', 'a tool, streamed', asksForWeather, { streams: true })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces cancelled ones', async () => {
    const slow: Answer = () => ({ text: 'Too late.', delayMillis: 20_000 })
    const { tree, results } = await lived('aborted', 'the task is cancelled', slow, { cancelled: 1 })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
        llm.fake-1 OK
          api.fake-1 ERROR aborted"
    `)
    expect(results).toEqual([{ thrown: 'CancelledError' }])
  })
})

describe('runs', () => {
  test('traces two prompts of one conversation', async () => {
    const plan = { prompts: ['What is up?', 'And now?'] }
    const { tree } = await lived('two-prompts', 'two prompts of one conversation', asksForWeather, plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces several at once', async () => {
    const plan = { prompts: ['One?', 'Two?', 'Three?'], threads: ['a', 'b', null], at_once: true }
    const { tree } = await lived('at-once', 'three runs of one agent at once', asksForWeather, plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces several at once in one conversation', async () => {
    const plan = { prompts: ['One?', 'Two?'], threads: ['a'], at_once: true }
    const { tree } = await lived('at-once-in-one', 'two runs at once in one conversation', asksForWeather, plan)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one that does not end', async () => {
    const { tree } = await lived(
      'too-long',
      'the limit of iterations',
      ({ toolResults }) => (toolResults < 2 ? { toolCalls: [PARIS] } : { text: 'So far.' }),
      { iterations: 2 },
    )
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR incomplete [hermes.turn.number=1, hermes.turn.final_status=incomplete, hermes.turn.tokens.total=274, hermes.turn.exit_reason=max_iterations]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]"
    `)
  })

  test('traces one that asks the user', async () => {
    const calls = [
      { name: 'ask_user', arguments: { question: 'Which city?' } },
      { name: 'task_complete', arguments: { summary: 'It is sunny.' } },
    ]
    const answer: Answer = ({ toolResults }) => ({ toolCalls: calls.slice(toolResults, toolResults + 1) })
    const { tree, results } = await lived('question', 'a question, and its answer', answer, { asks: 'Paris' })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=question]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.ask_user OK [hermes.tool.outcome=waiting]
        question.ask_user OK [hermes.approval.choice=submitted]

      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=terminal_tool]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.task_complete OK [hermes.tool.outcome=completed]"
    `)
    expect(results).toMatchObject([{ stop: 'terminal_tool' }])
  })

  test('is unaffected without hookspan', async () => {
    const { records, results } = await lived('disabled', '', asksForWeather, { enabled: false })
    expect(records).toEqual([])
    expect(results).toEqual([{ output: 'It is sunny.', stop: 'complete' }])
  })
})

describe('child agents', () => {
  const researches = (name: string, key: string): Answer =>
    delegates({ name, arguments: { [key]: 'What is the answer?' } }, asksForWeather)

  test('traces one as a tool', async () => {
    const { tree } = await lived('child', 'an agent as a tool', researches('research', 'prompt'))
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.research OK [hermes.tool.outcome=completed]
              subagent.researcher OK
                agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
                      tool.get_weather OK [hermes.tool.outcome=completed]
                    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one in a tool', async () => {
    const { tree } = await lived('subagent', 'a tool that runs a child', researches('delegate', 'goal'))
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.delegate OK [hermes.tool.outcome=completed]
              subagent.child OK
                agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
                      tool.get_weather OK [hermes.tool.outcome=completed]
                    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
  })
})

describe("beside Locus's own TelemetryHook", () => {
  const answer = asksFor([ROME, PARIS], 'Both are sunny.')

  test('traces two calls of one tool at once', async () => {
    const { tree, theirs } = await lived('beside-telemetry', 'calls at once, beside TelemetryHook', answer, {
      hooks: ['telemetry'],
    })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]"
    `)
    expect(outlineOf(theirs)).toMatchInlineSnapshot(`
      "agent.invocation
        agent.iteration.0
          tool.get_weather
        agent.iteration.1"
    `)
  })

  test('traces two runs at once', async () => {
    const plan = { hooks: ['telemetry'], prompts: ['One?', 'Two?'], threads: ['a', 'b'], at_once: true } as const
    const { plugin, theirs } = await lived(
      'runs-beside-telemetry',
      'two runs at once, beside TelemetryHook',
      answer,
      plan,
    )
    const named = (name: string) => theirs.filter(({ span }) => span === name).length
    const ours = plugin.spans().map(({ name }) => name)
    expect(ours.filter(name => name === 'agent')).toHaveLength(2)
    expect(ours.filter(name => name === 'tool.get_weather')).toHaveLength(4)
    expect(named('agent.invocation')).toBe(1)
    expect(named('tool.get_weather')).toBeLessThan(4)
  })
})

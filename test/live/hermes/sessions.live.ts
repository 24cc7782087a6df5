import { expect, test } from 'vitest'
import { asksFor, delegate, shell } from './answers.ts'
import { gatewayScenes } from './gateway-scene.ts'

// The memory is reviewed after the third turn of a session.
const lived = gatewayScenes({ memory: { nudge_interval: 3 } })

test('traces a delegation', async () => {
  const { tree } = await lived({
    scenario: 'delegation',
    description: 'a child agent that runs one shell command',
    answer: request =>
      request.prompt.includes('count')
        ? asksFor([shell('echo 1 2 3 | wc -w')], 'There are three.')(request)
        : asksFor([delegate('count them')], 'Three.')(request),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.delegate_task OK [hermes.tool.outcome=completed]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
                    tool.terminal OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('traces three children at once, one of which repeats a request', async () => {
  let failures = 0
  const { tree } = await lived({
    scenario: 'batch',
    description: 'three child agents at once: a tool, a 503 and then an answer, an answer',
    answer: request => {
      if (request.prompt.includes('the first')) return asksFor([shell('echo 1')], 'One.')(request)
      if (request.prompt.includes('the third')) return { text: 'Three.', delayMillis: 100 }
      if (!request.prompt.includes('the second')) {
        return asksFor([delegate('the first', 'the second', 'the third')], 'All three.')(request)
      }
      failures += 1
      return failures === 1 ? { status: 503, error: 'too busy' } : { text: 'Two.' }
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.delegate_task OK [hermes.tool.outcome=completed]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
                    tool.terminal OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
                llm.fake-1 OK
                  api.fake-1 ERROR InternalServerError [http.response.status_code=503]
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
            subagent.leaf OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('traces three sessions at once', async () => {
  const { trees } = await lived({
    scenario: 'at-once',
    description: 'three sessions at once, a shell command each',
    answer: asksFor([shell('sleep 0.2')], 'Done.'),
    act: ({ gateway, session }) =>
      Promise.all([1, 2, 3].map(number => gateway.run({ session: `${session}-${number}`, text: `Do it: ${session}` }))),
  })
  expect(trees).toHaveLength(3)
  expect(new Set(trees).size).toBe(1)
  expect(`\n${trees[0]}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

// In this version a review has all the hooks of a turn: only what it is asked tells it from one.
test('traces a review in the background, and the next prompt', async () => {
  const history = ['one', 'two'].flatMap(text => [
    { role: 'user' as const, content: text },
    { role: 'assistant' as const, content: `I heard ${text}.` },
  ])
  const { tree, spans } = await lived({
    scenario: 'review',
    description: 'the third turn of a session, which Hermes reviews in the background, and the fourth',
    answer: ({ prompt }) => ({ text: prompt.startsWith('Review') ? 'Nothing to save.' : 'I heard you.' }),
    act: async ({ say, until }) => {
      await say({ history })
      await until(records => records.filter(({ hook }) => hook === 'post_api_request').length === 2)
      await say({ text: 'Go on' })
    },
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=1086]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1060, gen_ai.usage.cache_read.input_tokens=106, gen_ai.usage.output_tokens=26, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    agent OK [hermes.turn.final_status=completed, hermes.turn.tokens.total=1108]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1080, gen_ai.usage.cache_read.input_tokens=108, gen_ai.usage.output_tokens=28, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=1042]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  expect(spans.map(({ attributes }) => attributes['hermes.session.kind'])).toContain('background')
})

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startModelServer } from '../../support/model-server.mjs'
import { blocks, read } from '../../support/pages.ts'
import { hostNode, runHost, scratchHome, scratchProject, tracesOf } from '../live-host.ts'
import { type Answer, asksFor, asksForWeather, DELETE, PARIS, ROME } from '../sdk-program.ts'
import { live, lived, withResearcher } from './calls.ts'

const asksToDelete = asksFor([DELETE, PARIS], 'Done.')

describe.each(['generate', 'stream', 'agent'] as const)('%s', kind => {
  test('traces a tool', async () => {
    const { tree, results, spans } = await lived(`tool-${kind}`, `a tool: ${kind}`, asksForWeather, { kind })
    expect(results).toEqual([{ output: 'It is sunny.' }])
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
    const requests = spans.filter(span => span.name.startsWith('api.'))
    const firstChunks = requests.map(span => span.attributes['gen_ai.response.time_to_first_chunk'] !== undefined)
    expect(firstChunks).toEqual(requests.map(() => kind === 'stream'))
  })

  test('traces a model that fails for good', async () => {
    const fails: Answer = () => ({ status: 400, error: 'on fire' })
    const { tree } = await lived(`fails-${kind}`, `always 400: ${kind}`, fails, { kind })
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR AI_APICallError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
        llm.fake-1 OK
          api.fake-1 ERROR AI_APICallError [http.response.status_code=400]"
    `)
  })

  test('traces a 500 that the SDK repeats', async () => {
    const answer: Answer = ({ attempt }) => (attempt === 1 ? { status: 500 } : { text: 'Hello.' })
    const description = `one 500, then success: ${kind}`
    const { tree } = await lived(`retried-${kind}`, description, answer, { kind, maxRetries: 1 })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          api.fake-1 ERROR AI_APICallError [http.response.status_code=500]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces a call that the user grants', async () => {
    const plan = { kind, choice: 'once', session: 'conversation-1' } as const
    const { tree, spans } = await lived(`granted-${kind}`, `a call that a person grants: ${kind}`, asksToDelete, plan)
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
    expect(roots[1]?.links).toMatchObject([{ spanId: roots[0]?.spanId }])
  })
})

describe('tools', () => {
  test('traces parallel ones', async () => {
    const { tree, spans } = await lived('parallel', 'two calls of one tool at once', asksFor([PARIS, ROME], 'Both.'))
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

  test('traces one that throws', async () => {
    const answer = asksFor([{ name: 'read_file', arguments: { path: '/x' } }], 'Sorry.')
    const { tree } = await lived('tool-fails', 'a tool that throws', answer)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.read_file ERROR TypeError [hermes.tool.outcome=error]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one that does not exist', async () => {
    const { tree } = await lived('unknown-tool', 'a tool that does not exist', asksFor([{ name: 'telescope' }], 'Oh.'))
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.telescope ERROR tool_error [hermes.tool.outcome=error]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test.each(['generate', 'stream'] as const)('traces one that runs when the call is aborted: %s', async kind => {
    const answer = asksFor([{ name: 'slow' }], 'Never.')
    const { tree } = await lived(`tool-aborted-${kind}`, `aborted while a tool runs: ${kind}`, answer, { kind })
    expect(tree).toMatchSnapshot()
  })

  test('traces one with an agent in it', async () => {
    const plan = { functionId: 'main', session: 'conversation-1' }
    const { tree, spans } = await lived('sub-agent', 'an agent in a tool', withResearcher(asksForWeather), plan)
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
    const agents = spans.filter(span => span.name === 'agent').map(span => span.attributes['gen_ai.agent.name'])
    expect(agents.toSorted()).toEqual(['main', 'researcher'])
    expect(new Set(spans.map(span => span.attributes['session.id']))).toEqual(new Set(['conversation-1']))
  })

  test('traces one with an agent in it that fails', async () => {
    const answer = withResearcher(() => ({ status: 400, error: 'on fire' }))
    const { tree } = await lived('sub-agent-fails', 'an agent in a tool whose model fails', answer)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.research ERROR AI_APICallError [hermes.tool.outcome=error]
              subagent.researcher ERROR failed
                agent ERROR AI_APICallError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
                  llm.fake-1 OK
                    api.fake-1 ERROR AI_APICallError [http.response.status_code=400]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('traces one with an embedding in it', async () => {
    const answer = asksFor([{ name: 'look_up', arguments: { query: 'x' } }], 'Found.')
    const { tree } = await lived('embed-tool', 'an embedding in a tool', answer)
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.look_up OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        aux.embed OK [gen_ai.usage.input_tokens=7, gen_ai.usage.output_tokens=0]"
    `)
  })
})

describe('a stream', () => {
  const answer: Answer = () => ({ text: 'One two three four.' })

  test.each([
    ['none', 'not read at all'],
    ['some', 'left when it has begun'],
    ['aborted', 'aborted when it has begun'],
  ] as const)('is traced if read: %s', async (reads, description) => {
    const { tree } = await lived(`stream-${reads}`, `a stream that is ${description}`, answer, {
      kind: 'stream',
      reads,
    })
    expect(tree).toMatchSnapshot()
  })

  test('is traced if it breaks off', async () => {
    const breaks: Answer = () => ({ text: 'One two three four.', truncate: true })
    const { tree } = await lived('stream-breaks', 'a stream whose connection is cut', breaks, { kind: 'stream' })
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR AI_APICallError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=model_error]
        llm.fake-1 OK
          api.fake-1 ERROR AI_APICallError [http.response.status_code=200]"
    `)
  })
})

describe('an object', () => {
  const paris: Answer = () => ({ text: '{"city":"Paris"}' })

  test.each([
    ['object', { kind: 'object' }],
    ['stream-object', { kind: 'streamObject' }],
    ['structured', { structured: true }],
  ] as const)('is traced by %s', async (scenario, plan) => {
    const { tree, results } = await lived(scenario, `an object: ${scenario}`, paris, plan)
    expect(results).toEqual([{ output: { city: 'Paris' } }])
    expect(tree).toMatchSnapshot()
  })

  test('is traced if it is none', async () => {
    const none: Answer = () => ({ text: 'Paris' })
    const { tree } = await lived('no-object', 'an object that is none', none, { kind: 'object' })
    expect(tree).toMatchInlineSnapshot(`
      "agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=AI_NoObjectGeneratedError]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })
})

test('makes embeddings a side call of their own', async () => {
  const { tree } = await lived('embed', 'two embeddings', () => ({}), { kind: 'embed' })
  expect(tree).toMatchInlineSnapshot(`"aux.embedMany OK [gen_ai.usage.input_tokens=14, gen_ai.usage.output_tokens=0]"`)
})

describe('an approval', () => {
  test('is traced if refused', async () => {
    const { tree } = await lived('refused', 'a call that a person refuses', asksToDelete, { choice: 'deny' })
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

  test('is traced if refused by a rule', async () => {
    const { tree } = await lived('refused-by-rule', 'a call that a rule refuses', asksToDelete, { policy: 'denied' })
    expect(tree).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
            tool.get_weather OK [hermes.tool.outcome=completed]
            tool.delete_file OK [hermes.tool.outcome=blocked]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })

  test('is traced if granted in another process', async () => {
    const home = scratchHome()
    const file = join(home, 'waiting.json')
    await live(asksToDelete, { session: 'conversation-1', saves: file }, home)
    const { trees } = await live(asksToDelete, { session: 'conversation-1', resumes: file, choice: 'once' }, home)
    expect(trees).toHaveLength(2)
    expect(trees[1]).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137]
        llm.fake-1 OK
          approval.delete_file OK (inferred) [hermes.approval.choice=once]
          tool.delete_file OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
    `)
  })
})

describe('a session', () => {
  test('has the calls that name it', async () => {
    const plan = {
      prompts: ['One', 'Two'],
      session: 'conversation-1',
      functionId: 'helper',
      context: { userId: 'ada', tags: ['beta'], plan: 'free' },
    }
    const { spans, trees } = await lived('session', 'two calls in one session', asksForWeather, plan)
    expect(trees).toHaveLength(2)
    const roots = spans.filter(span => span.name === 'agent')
    for (const { attributes } of roots)
      expect(attributes).toMatchObject({
        'session.id': 'conversation-1',
        'gen_ai.agent.name': 'helper',
        'user.id': 'ada',
        'tag.tags': ['beta'],
        metadata: '{"plan":"free"}',
      })
  })

  test('has parallel calls as turns of their own', async () => {
    const plan = { prompts: ['One', 'Two'], atOnce: true, session: 'conversation-1' }
    const { trees, spans } = await lived('at-once', 'two calls at once in one session', asksForWeather, plan)
    expect(trees).toHaveLength(2)
    for (const tree of trees) expect(tree).toContain('hermes.turn.final_status=completed, hermes.turn.tokens.total=274')
    const sessions = new Set(spans.map(span => span.attributes['session.id']))
    expect([...sessions].toSorted()).toEqual(['conversation-1', expect.stringMatching(/^conversation-1:call-/)])
  })
})

test('works beside the OpenTelemetry of the SDK, an integration that throws, and registered twice', async () => {
  const description = 'registered twice, beside the OpenTelemetry of the SDK and one that throws'
  const { tree, results } = await lived('beside', description, asksForWeather, { beside: true })
  expect(results).toEqual([{ output: 'It is sunny.' }, { theirs: expect.any(Number) }])
  expect(results[1]?.theirs).toBeGreaterThan(3)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

test('runs the program of the page', async () => {
  const [program = ''] = blocks(read('docs/agents/ai-sdk.md'), 'js').filter(block => block.includes('generateText('))
  const home = scratchHome()
  const project = scratchProject(home, { files: { 'page.mjs': program }, withHost: true })
  const server = await startModelServer(asksForWeather)
  try {
    const env = { MODEL_URL: `${server.url}/v1` }
    const { stdout, code } = await runHost(hostNode(), ['page.mjs'], { home, cwd: project, env })
    expect({ stdout, code }).toEqual({ stdout: 'It is sunny.\n', code: 0 })
  } finally {
    await server.close()
  }
  const { spans, trees } = await tracesOf(home)
  expect(trees).toHaveLength(1)
  expect(spans.find(span => span.name === 'agent')?.attributes).toMatchObject({
    'session.id': 'conversation-1',
    'user.id': 'ada',
    'gen_ai.agent.name': 'helper',
    metadata: '{"plan":"free"}',
  })
  expect(spans.map(span => span.name)).toContain('tool.get_weather')
})

test('has no content without the consent to inputs and outputs', async () => {
  const telemetry = { recordInputs: false, recordOutputs: false }
  const { tree, spans } = await lived('no-content', 'a tool, nothing recorded', asksForWeather, { telemetry })
  expect(tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.get_weather OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  expect(JSON.stringify(spans)).not.toMatch(/What is up|sunny|Paris/)
})

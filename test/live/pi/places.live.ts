import { expect, test } from 'vitest'
import { capture, hookspanFolder, tracesOf } from '../live-host.ts'
import { DELEGATING } from './extensions.ts'
import { install, type PiHome, piHome, print, RpcPi } from './pi-host.ts'
import { bash, calls, modelThat, treeOf } from './scripted-model.ts'

/** An agent that sends another one, in a process of its own. */
async function delegating(env: Readonly<Record<string, string>> = {}): Promise<PiHome> {
  const delegate = { name: 'subagent', arguments: { agent: 'scout', task: 'Look around' }, id: 'call_1' }
  const server = await modelThat(({ prompt, toolResults }) => {
    if (prompt.includes('Look around')) return { text: 'Nothing here.' }
    return toolResults === 0 ? { toolCalls: [delegate] } : { text: 'Done.' }
  })
  const pi = piHome(server, { extensions: { 'subagent.ts': DELEGATING } })
  await print(pi, 'Send somebody', env)
  return pi
}

test('links a child agent in a process of its own to the tool that started it', async () => {
  const pi = await delegating()
  const { trees, spans } = await tracesOf(pi.home)
  expect(trees.join('\n\n')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.subagent OK [hermes.tool.outcome=completed]
            subagent.scout OK (inferred)
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  const tool = spans.find(({ name }) => name === 'tool.subagent')
  const child = spans.find(({ name, links }) => name === 'agent' && links.length > 0)
  expect(child?.links).toMatchObject([{ traceId: tool?.traceId, spanId: tool?.spanId }])
  capture(pi.home, 'pi', 'subagent', 'print mode: a tool named subagent starts another Pi')
})

test('nests a child agent in a process of its own in the same trace, if configured', async () => {
  const pi = await delegating({ HOOKSPAN_PARENT: 'nest' })
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.subagent OK [hermes.tool.outcome=completed]
            subagent.scout OK (inferred)
            agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
              llm.fake-1 OK
                api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})

test('sends the trace context with the request to the model, unless a key switches that off', async () => {
  const server = await modelThat(() => ({ text: 'Done.' }))
  const pi = piHome(server)
  await print(pi, 'Hello')
  const [{ traceId } = { traceId: '' }] = (await tracesOf(pi.home)).spans
  expect(server.requests.map(({ headers }) => headers['traceparent'])).toEqual([
    expect.stringMatching(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`)),
  ])
  await print(pi, 'Hello again', { HOOKSPAN_PROPAGATE_CONTEXT: 'false' })
  expect(server.requests[1]?.headers).not.toHaveProperty('traceparent')
})

/** The model answers 503 once, and then asks for a tool. */
async function spokenTo(api: 'anthropic-messages' | 'openai-responses'): Promise<string> {
  const server = await modelThat(({ attempt, toolResults }) => {
    if (attempt === 1 && toolResults === 0) return { status: 503 }
    return toolResults === 0 ? { toolCalls: [bash('echo hi', 'call_1')] } : { text: 'Done.' }
  })
  const pi = piHome(server, { api })
  await print(pi, 'Say hi with a command')
  capture(pi.home, 'pi', api, `print mode, ${api}: the model answers 503 once, then asks for a tool`)
  return treeOf(pi)
}

test("traces a model with Anthropic's protocol", async () => {
  expect(await spokenTo('anthropic-messages')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 ERROR 503 [http.response.status_code=503]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test("traces a model with OpenAI's newer protocol", async () => {
  expect(await spokenTo('openai-responses')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 ERROR 503 [http.response.status_code=503]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=completed]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=completed]"
  `)
})

test('traces a conversation that is compacted', async () => {
  const server = await modelThat(() => ({ text: 'A long story. '.repeat(20) }))
  const pi = piHome(server, { settings: { compaction: { keepRecentTokens: 1, reserveTokens: 1000 } } })
  const rpc = new RpcPi(pi)
  await rpc.prompt('First')
  await rpc.prompt('Second')
  rpc.send({ type: 'compact' })
  await rpc.sees('"command":"compact"')
  await rpc.end()
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    aux.compression OK (inferred) [gen_ai.usage.input_tokens=240, gen_ai.usage.cache_read.input_tokens=40, gen_ai.usage.output_tokens=34, gen_ai.usage.reasoning.output_tokens=6]"
  `)
  capture(pi.home, 'pi', 'compaction', 'rpc mode: two prompts, then compact')
})

test('is an extension that can be installed as a package', async () => {
  const server = await modelThat(() => ({ text: 'Done.' }))
  const pi = piHome(server, { extensions: { 'hookspan.ts': '' } })
  const { code } = await install(pi, hookspanFolder())
  expect(code).toBe(0)
  await print(pi, 'Hello')
  expect(await treeOf(pi)).toMatch(/^agent OK/)
})

test('records every span once if installed twice, by a file and as a package', async () => {
  const server = await modelThat(calls(bash('echo hi', 'call_1')))
  const pi = piHome(server)
  await install(pi, hookspanFolder())
  await print(pi, 'Say hi with a command')
  const { spans } = await tracesOf(pi.home)
  expect(spans.map(({ name }) => name).toSorted()).toEqual([
    'agent',
    'api.fake-1',
    'api.fake-1',
    'llm.fake-1',
    'tool.bash',
  ])
})

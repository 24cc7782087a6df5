import { afterEach, expect, test, vi } from 'vitest'
import { type ModelReply, type ModelRequest, type ModelServer, startModelServer } from '../../support/model-server.mjs'
import { capture, tracesOf } from '../live-host.ts'
import { type OpenClawHome, openClawHome, prompt, startGateway } from './openclaw-host.ts'

// Each process of OpenClaw takes half a minute to begin with.
vi.setConfig({ testTimeout: 600_000 })

const servers: ModelServer[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function modelThat(answer: (request: ModelRequest, number: number) => ModelReply): Promise<ModelServer> {
  let number = 0
  const server = await startModelServer(request => {
    number += 1
    return answer(request, number)
  })
  servers.push(server)
  return server
}

const exec = (command: string): { name: string; arguments: { command: string } } => ({
  name: 'exec',
  arguments: { command },
})

async function treeOf({ home }: OpenClawHome): Promise<string> {
  return (await tracesOf(home)).trees.join('\n\n')
}

test('traces a tool call', async () => {
  const server = await modelThat(({ toolResults }) =>
    toolResults === 0 ? { toolCalls: [exec('echo hi')] } : { text: 'Done.' },
  )
  const host = await openClawHome(server)
  const { code } = await prompt(host, 'Say hi with a command', '--local')
  expect(code).toBe(0)
  expect(await treeOf(host)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=toolUse]
          tool.exec OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(host.home, 'openclaw', 'tool', 'agent --local: a tool call')
})

test('traces two prompts in one session, without permission to read the conversation', async () => {
  const server = await modelThat(({ toolResults, prompt }) =>
    toolResults === 0 && prompt.includes('command') ? { toolCalls: [exec('echo hi')] } : { text: 'Done.' },
  )
  const host = await openClawHome(server, { seesConversation: false })
  await prompt(host, 'Say hi with a command', '--local')
  await prompt(host, 'And again', '--local')
  const { trees, spans } = await tracesOf(host.home)
  expect(trees.join('\n\n')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=toolUse]
          tool.exec OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  expect(new Set(spans.map(span => span.attributes['session.id']))).toEqual(new Set(['talk']))
  expect(JSON.stringify(spans)).not.toMatch(/Say hi|Done\./)
  capture(host.home, 'openclaw', 'unseen', 'agent --local, twice: no allowConversationAccess')
})

test('traces tools that run together, one of which fails', async () => {
  const toolCalls = [exec('sleep 0.5; echo one'), { name: 'read', arguments: { path: 'missing.txt' } }]
  const server = await modelThat(({ toolResults }) => (toolResults === 0 ? { toolCalls } : { text: 'Done.' }))
  const host = await openClawHome(server)
  await prompt(host, 'Do two things', '--local')
  const { trees, spans } = await tracesOf(host.home)
  expect(trees.join('\n\n')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=toolUse]
          tool.exec OK [hermes.tool.outcome=completed]
          tool.read ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  const [first, second] = spans.filter(({ name }) => name.startsWith('tool.'))
  expect(Math.max(first!.startAt, second!.startAt)).toBeLessThan(Math.min(first!.endAt, second!.endAt))
  capture(host.home, 'openclaw', 'parallel', 'agent --local: two tools at the same time, one of which fails')
})

test('traces one failure of the model, then success', async () => {
  const server = await modelThat((_, number) => (number === 1 ? { status: 500 } : { text: 'Done.' }))
  const host = await openClawHome(server)
  await prompt(host, 'Try', '--local')
  expect(await treeOf(host)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 ERROR server_error [http.response.status_code=500]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(host.home, 'openclaw', 'retry', 'agent --local: the model answers 500 once, then well')
})

test('traces a model that always fails', async () => {
  const server = await modelThat(() => ({ status: 500 }))
  const host = await openClawHome(server)
  const { code } = await prompt(host, 'Try', '--local')
  expect(code).toBe(1)
  expect(await treeOf(host)).toMatchInlineSnapshot(`
    "agent ERROR server_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=server_error]
      llm.fake-1 OK
        api.fake-1 ERROR server_error [http.response.status_code=500]
        api.fake-1 ERROR server_error [http.response.status_code=500]
        api.fake-1 ERROR server_error [http.response.status_code=500]"
  `)
  capture(host.home, 'openclaw', 'failed', 'agent --local: the model answers 500 to every attempt')
})

test('traces a tool that another plugin refuses', async () => {
  const server = await modelThat(({ toolResults }) =>
    toolResults === 0 ? { toolCalls: [exec('rm -rf /')] } : { text: 'I may not.' },
  )
  const plugin = "api.on('before_tool_call', () => ({ block: true, blockReason: 'not in this house' }))"
  const host = await openClawHome(server, { plugin })
  await prompt(host, 'Delete everything', '--local')
  expect(await treeOf(host)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=toolUse]
          tool.exec OK [hermes.tool.outcome=blocked]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(host.home, 'openclaw', 'refused', 'agent --local: another plugin blocks the tool in before_tool_call')
})

/** Its own tools are behind `tool_call`, and the child is at work while the parent has answered already. */
const SPAWN = {
  name: 'tool_call',
  arguments: { id: 'sessions_spawn', args: { task: 'Look at the weather', label: 'weather' } },
}

test('traces a gateway: two prompts, and a child agent', async () => {
  const server = await modelThat(({ prompt: asked, toolResults }) => {
    if (asked.includes('[Subagent Task]')) return { text: 'It rains.' }
    return asked.includes('Ask a child') && toolResults === 0 ? { toolCalls: [SPAWN] } : { text: 'Done.' }
  })
  const host = await openClawHome(server)
  const gateway = await startGateway(host)
  await prompt(host, 'Hello')
  await prompt(host, 'Ask a child')
  await childIsTold(host.home)
  await gateway.stop()
  expect(await treeOf(host)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=toolUse]
          tool.tool_call OK [hermes.tool.outcome=completed]
          tool.sessions_spawn OK [hermes.tool.outcome=completed]
            subagent.main OK (inferred)
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=3, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(host.home, 'openclaw', 'child', 'gateway: two prompts in one session, the second delegates to a sub-agent')
})

/** The child's answer goes to its parent in a turn of its own: then the delegation is over, and four turns are. */
async function childIsTold(home: string): Promise<void> {
  for (;;) {
    // A line may just be on its way into the file.
    const { spans } = await tracesOf(home).catch(() => ({ spans: [] }))
    const ended = spans.map(({ name }) => name)
    if (ended.includes('subagent.main') && ended.filter(name => name === 'agent').length === 4) return
    await new Promise(resolve => setTimeout(resolve, 250))
  }
}

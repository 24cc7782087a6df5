import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { hookspanFolder, tracesOf } from '../live-host.ts'
import { installed, modelFor, OpencodeServer, ran, ranWith, record } from './opencode.ts'

const shell = (command: string) => ({ name: 'bash', arguments: { command, description: 'For a test' } })

test('traces a tool, with the trace context in its shell and in the requests', async () => {
  const { ended, home, traces, requests } = await ranWith('say hi', {
    answer: ({ toolResults }) =>
      toolResults === 0 ? { toolCalls: [shell('echo "<$TRACEPARENT>"')] } : { text: 'Done.' },
  })
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Done.') })
  expect(`\n${traces.tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    "
  `)
  const [trace] = traces.spans.map(({ traceId }) => traceId)
  const spanOf = (name: string): string[] =>
    traces.spans.filter(span => span.name === name).map(span => `00-${trace}-${span.spanId}-01`)
  expect(requests.filter(({ tools }) => tools.length > 0).map(({ headers }) => headers['traceparent'])).toEqual(
    spanOf('api.fake-1'),
  )
  expect(requests.at(-1)?.lastToolResults[0]?.text).toContain(`<${spanOf('tool.bash')[0]}>`)
  record(home, 'tool', 'opencode run: one shell command')
})

test('traces with the package, named in opencode.json with options', async () => {
  const { traces } = await ranWith('a secret', {
    settings: { plugin: [[hookspanFolder(), { content_capture: 'off' }]] },
    answer: () => ({ text: 'Another secret.', delayMillis: 500 }),
  })
  expect(`\n${traces.tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    "
  `)
  expect(JSON.stringify(traces.spans)).not.toContain('secret')
})

test('traces two tools at a time, one of which fails', async () => {
  const { home, traces } = await ranWith('look at both', {
    answer: ({ toolResults }) =>
      toolResults === 0
        ? { toolCalls: [{ name: 'read', arguments: { filePath: 'missing.txt' } }, shell('sleep 0.3; cat notes.txt')] }
        : { text: 'One is missing.' },
  })
  expect(`\n${traces.tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.read ERROR tool_error [hermes.tool.outcome=error]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    "
  `)
  record(home, 'parallel', 'opencode run: two tools in one answer, one of which fails')
})

test('traces one 500, then an answer', async () => {
  const { home, traces } = await ranWith('try hard', {
    answer: ({ attempt }) => (attempt === 1 ? { status: 500, error: 'the model is on fire' } : { text: 'Better now.' }),
  })
  expect(`\n${traces.tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 ERROR provider_error
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    "
  `)
  record(home, 'retry', 'opencode run: HTTP 500, then an answer')
})

test('traces nothing but 500', async () => {
  // It says how long to wait, which the model server cannot: else opencode takes more than a minute for its five retries.
  const model = createServer((_, response) => {
    response.writeHead(500, { 'content-type': 'application/json', 'retry-after-ms': '100' })
    response.end(JSON.stringify({ error: { message: 'the model is on fire', type: 'server_error' } }))
  })
  await new Promise<void>(resolve => model.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void model.close())
  const opencode = installed(`http://127.0.0.1:${(model.address() as AddressInfo).port}`)
  const ended = await ran('try in vain', opencode)
  expect(ended.stderr).toContain('the model is on fire')
  const { tree } = await tracesOf(opencode.home)
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent ERROR APIError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=APIError]
      llm.fake-1 OK
        api.fake-1 ERROR provider_error
        api.fake-1 ERROR provider_error
        api.fake-1 ERROR provider_error
        api.fake-1 ERROR provider_error
        api.fake-1 ERROR provider_error
        api.fake-1 ERROR APIError [http.response.status_code=500]
      aux.title ERROR no_title
    "
  `)
  record(opencode.home, 'failure', 'opencode run: HTTP 500 until it gives up')
})

test('traces a permission without a user', async () => {
  const { home, traces } = await ranWith('remove it', {
    settings: { permission: { bash: 'ask' } },
    answer: ({ toolResults }) => (toolResults === 0 ? { toolCalls: [shell('rm notes.txt')] } : { text: 'Removed.' }),
  })
  expect(`\n${traces.tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=refused]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.bash OK [hermes.tool.outcome=blocked]
            approval.bash OK [hermes.approval.choice=deny]
      aux.title OK
    "
  `)
  record(home, 'refused', 'opencode run, which refuses what it would have to ask for')
})

test('traces a child agent', async () => {
  const { home, traces } = await ranWith('delegate this', {
    answer: ({ prompt, toolResults }) => {
      if (prompt.includes('count the notes')) return { text: 'There is one note.' }
      if (toolResults > 0) return { text: 'One note.' }
      const task = { description: 'count', prompt: 'count the notes', subagent_type: 'general' }
      return { toolCalls: [{ name: 'task', arguments: task }] }
    },
  })
  expect(`\n${traces.tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.task OK [hermes.tool.outcome=completed]
            subagent.general OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    "
  `)
  record(home, 'child', 'opencode run: the task tool, and the child session that it starts')
})

test('traces two prompts in a session, with permissions given once and for ever', async () => {
  const model = await modelFor({
    answer: ({ prompt, toolResults }) =>
      toolResults === 0 ? { toolCalls: [shell(`echo ${prompt}`)] } : { text: `Echoed ${prompt}.` },
  })
  const opencode = installed(model.url, { permission: { bash: 'ask' } })
  const server = await OpencodeServer.start(opencode)
  const session = await server.session()
  await Promise.all([server.prompt(session, 'one'), server.reply('once')])
  await Promise.all([server.prompt(session, 'two'), server.reply('always')])
  await server.stop()
  const { tree } = await tracesOf(opencode.home)
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.bash OK [hermes.tool.outcome=completed]
            approval.bash OK [hermes.approval.choice=once]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.bash OK [hermes.tool.outcome=completed]
            approval.bash OK [hermes.approval.choice=always]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  record(opencode.home, 'permissions', 'opencode serve: two prompts in one session, permissions given once and always')
})

test('traces a run that is stopped during its tool, and the next prompt', async () => {
  const model = await modelFor({
    answer: ({ prompt, toolResults }) =>
      prompt.includes('sleep') && toolResults === 0 ? { toolCalls: [shell('sleep 60')] } : { text: 'Awake.' },
  })
  const opencode = installed(model.url)
  const server = await OpencodeServer.start(opencode)
  const session = await server.session()
  const slept = server.prompt(session, 'sleep for a minute')
  await server.works('bash')
  await server.post(`/session/${session}/abort`, {})
  await slept
  await server.idle(session)
  // Seen once on a busy machine: a prompt right after a stop is answered with what was stopped, and no model is asked.
  const asked = (): number => model.requests.filter(({ tools }) => tools.length > 0).length
  const before = asked()
  do await server.prompt(session, 'wake up')
  while (asked() === before)
  await server.stop()
  const { tree } = await tracesOf(opencode.home)
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
      llm.fake-1 OK
        api.fake-1 OK
          tool.bash OK [hermes.tool.outcome=cancelled]
      aux.title OK
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  record(opencode.home, 'stopped', 'opencode serve: a run is stopped while its tool works, then another prompt')
})

test('traces two sessions at once, and a compaction', async () => {
  const model = await modelFor({ answer: ({ prompt }) => ({ text: `Heard ${prompt}.`, delayMillis: 500 }) })
  const opencode = installed(model.url)
  const server = await OpencodeServer.start(opencode)
  const [left, right] = [await server.session(), await server.session()]
  await Promise.all([server.prompt(left, 'left'), server.prompt(right, 'right')])
  await server.post(`/session/${left}/summarize`, { providerID: 'fake', modelID: 'fake-1' })
  await server.idle(left)
  await server.stop()
  const { tree } = await tracesOf(opencode.home)
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
      aux.title OK
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed]
      llm.fake-1 OK
      aux.compression OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  record(opencode.home, 'sessions', 'opencode serve: two sessions at once, then a compaction of one')
})

test('traces a prompt that is sent while the previous one is running', async () => {
  const model = await modelFor({
    answer: ({ prompt, toolResults }) =>
      prompt.includes('first') && toolResults === 0 ? { toolCalls: [shell('sleep 2')] } : { text: 'Done with all.' },
  })
  const opencode = installed(model.url)
  const server = await OpencodeServer.start(opencode)
  const session = await server.session()
  const first = server.prompt(session, 'first')
  await server.works('bash')
  await server.tell(session, 'second')
  await first
  await server.idle(session)
  await server.stop()
  const { tree } = await tracesOf(opencode.home)
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=next_prompt]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.bash OK [hermes.tool.outcome=completed]
      aux.title OK
    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
  record(opencode.home, 'queued', 'opencode serve: a second prompt is given while the first one is at work')
})

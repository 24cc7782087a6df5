import { expect, test } from 'vitest'
import { capture, tracesOf } from '../live-host.ts'
import { piHome, print, RpcPi } from './pi-host.ts'
import { bash, calls, modelThat, treeOf } from './scripted-model.ts'

test('traces a tool call', async () => {
  const server = await modelThat(calls(bash('echo hi', 'call_1')))
  const pi = piHome(server)
  const { code, stdout } = await print(pi, 'Say hi with a command')
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'tool', 'print mode: a tool call')
})

test('traces tools that run together', async () => {
  const server = await modelThat(calls(bash('sleep 0.2; echo one', 'call_1'), bash('sleep 0.1; echo two', 'call_2')))
  const pi = piHome(server)
  await print(pi, 'Run two commands')
  const { trees, spans } = await tracesOf(pi.home)
  expect(trees.join('\n\n')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  const [first, second] = spans
    .filter(({ name }) => name === 'tool.bash')
    .map(({ startAt, endAt }) => ({ startAt, endAt }))
  expect(Math.max(first!.startAt, second!.startAt)).toBeLessThan(Math.min(first!.endAt, second!.endAt))
  capture(pi.home, 'pi', 'parallel', 'print mode: two tools that run at the same time')
})

test('traces one failure of the model, then success', async () => {
  const server = await modelThat(({ attempt }) => (attempt === 1 ? { status: 500 } : { text: 'Done.' }))
  const pi = piHome(server)
  await print(pi, 'Try')
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 ERROR 500 [http.response.status_code=500]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'retry', 'print mode: the model answers 500 once, then well')
})

test('traces a model that always fails', async () => {
  const server = await modelThat(() => ({ status: 500 }))
  const pi = piHome(server)
  const { code } = await print(pi, 'Try')
  expect(code).toBe(1)
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent ERROR 500 [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=error]
      llm.fake-1 OK
        api.fake-1 ERROR 500 [http.response.status_code=500]
        api.fake-1 ERROR 500 [http.response.status_code=500]
        api.fake-1 ERROR 500 [http.response.status_code=500]"
  `)
  capture(pi.home, 'pi', 'failed', 'print mode: the model answers 500 to every attempt')
})

test('traces a tool that fails', async () => {
  const server = await modelThat(calls(bash('echo oh no; exit 3', 'call_1')))
  const pi = piHome(server)
  await print(pi, 'Fail')
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'tool-error', 'print mode: a command that exits with 3')
})

test('traces calls that Pi cannot start as errors, not as refused', async () => {
  const unfit = { name: 'read', arguments: {}, id: 'call_1' }
  const unknown = { name: 'teleport', arguments: {}, id: 'call_2' }
  const server = await modelThat(({ toolResults }) =>
    toolResults === 0 ? { toolCalls: [unfit, unknown] } : { text: 'Done.' },
  )
  const pi = piHome(server)
  await print(pi, 'Call what is not there')
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.read ERROR tool_error [hermes.tool.outcome=error]
          tool.teleport ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'bad-calls', 'print mode: arguments that do not fit, a tool that does not exist')
})

test('traces two prompts, and one in a new session', async () => {
  const server = await modelThat(calls(bash('echo hi', 'call_1')))
  const pi = piHome(server)
  const rpc = new RpcPi(pi)
  await rpc.prompt('First')
  await rpc.prompt('Second')
  rpc.send({ type: 'new_session' })
  await rpc.sees('"command":"new_session"')
  await rpc.prompt('Third')
  await rpc.end()
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]

    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  const { spans } = await tracesOf(pi.home)
  const roots = spans.filter(({ name }) => name === 'agent').toSorted((a, b) => a.startAt - b.startAt)
  const sessions = roots.map(({ attributes }) => attributes['session.id'])
  expect(sessions[0]).toBe(sessions[1])
  expect(roots[2]?.attributes['hermes.session.previous_id']).toBe(sessions[0])
  capture(pi.home, 'pi', 'sessions', 'rpc mode: two prompts, new_session, a third prompt')
})

test('traces a slow answer', async () => {
  const server = await modelThat(() => ({ text: 'Done.', firstChunkDelayMillis: 400 }))
  const pi = piHome(server)
  await print(pi, 'Take your time')
  const { trees, spans } = await tracesOf(pi.home)
  expect(trees.join('\n\n')).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  const request = spans.find(({ name }) => name === 'api.fake-1')
  expect(request?.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0.39)
  capture(pi.home, 'pi', 'slow', 'print mode: 400 ms between the head of the answer and its first word')
})

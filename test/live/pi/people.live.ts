import { expect, test } from 'vitest'
import type { ModelServer } from '../../support/model-server.mjs'
import { capture } from '../live-host.ts'
import { ASKING, REFUSING } from './extensions.ts'
import { type PiHome, piHome, print, RpcPi } from './pi-host.ts'
import { bash, calls, modelThat, treeOf } from './scripted-model.ts'

test('traces a tool that an extension after us refuses', async () => {
  const server = await modelThat(calls(bash('echo hi', 'call_1')))
  const pi = piHome(server, { extensions: { 'z-gate.ts': REFUSING } })
  await print(pi, 'Say hi with a command')
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=blocked]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'refused-after', 'print mode: an extension that was loaded after us refuses a tool')
})

test('traces a tool that an extension before us refuses, so that we are not asked', async () => {
  const server = await modelThat(calls(bash('echo hi', 'call_1')))
  const pi = piHome(server, { extensions: { 'a-gate.ts': REFUSING } })
  await print(pi, 'Say hi with a command')
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=blocked]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'refused-before', 'print mode: an extension that was loaded before us refuses a tool')
})

/** An extension asks whether a command may run, in rpc mode. */
async function asked(answer: boolean): Promise<PiHome> {
  const server = await modelThat(calls(bash('echo hi', 'call_1')))
  const pi = piHome(server, { extensions: { 'gate.ts': ASKING } })
  const rpc = new RpcPi(pi)
  rpc.send({ type: 'prompt', message: 'Say hi with a command' })
  await rpc.answer(answer)
  await rpc.settled()
  await rpc.end()
  return pi
}

test('traces a user who agrees', async () => {
  const pi = await asked(true)
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=completed]
            approval.bash OK (inferred) [hermes.approval.choice=once]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'approved', 'rpc mode: an extension asks a person, who agrees')
})

test('traces a user who refuses', async () => {
  const pi = await asked(false)
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=blocked]
            approval.bash OK (inferred) [hermes.approval.choice=deny]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
  capture(pi.home, 'pi', 'denied', 'rpc mode: an extension asks a person, who refuses')
})

test('traces a user who stops the answer', async () => {
  const server = await modelThat(() => ({ text: 'Too late.', delayMillis: 30_000 }))
  const pi = piHome(server)
  const rpc = new RpcPi(pi)
  rpc.send({ type: 'prompt', message: 'Take for ever' })
  await untilAsked(server)
  rpc.send({ type: 'abort' })
  await rpc.settled()
  await rpc.end()
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
      llm.fake-1 OK
        api.fake-1 ERROR aborted"
  `)
  capture(pi.home, 'pi', 'aborted', 'rpc mode: abort while the model is asked')
})

test('traces a user who stops a tool', async () => {
  const server = await modelThat(calls(bash('echo started; sleep 30', 'call_1')))
  const pi = piHome(server)
  const rpc = new RpcPi(pi)
  rpc.send({ type: 'prompt', message: 'Run for ever' })
  await rpc.sees('"type":"tool_execution_update"')
  rpc.send({ type: 'abort' })
  await rpc.settled()
  await rpc.end()
  expect(await treeOf(pi)).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=aborted]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.bash OK [hermes.tool.outcome=cancelled]"
  `)
  capture(pi.home, 'pi', 'aborted-tool', 'rpc mode: abort while a command runs')
})

/** The model has a request before it, and has not answered. */
async function untilAsked(server: ModelServer): Promise<void> {
  while (server.requests.length === 0) await new Promise(resolve => setTimeout(resolve, 20))
}

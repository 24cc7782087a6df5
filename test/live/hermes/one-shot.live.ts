import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Ended, Traces } from '../live-host.ts'
import { asksFor, delegate, shell } from './answers.ts'
import { chat, type HermesHome, hermesHome } from './hermes-home.ts'
import { lived, type Scene } from './scene.ts'
import { RefusingProxy, ScriptedModel } from './scripted-model.ts'

let model: ScriptedModel
let proxy: RefusingProxy
let hermes: HermesHome

beforeAll(async () => {
  model = await ScriptedModel.start()
  proxy = await RefusingProxy.start()
  hermes = hermesHome({ modelUrl: model.url, proxyUrl: proxy.url })
})

afterAll(async () => {
  await proxy?.close()
  await model?.close()
})

async function chatted(scene: Omit<Scene, 'act'>): Promise<Traces & { readonly ended: Ended | undefined }> {
  let ended: Ended | undefined
  const traces = await lived(
    { hermes, model, proxy },
    {
      ...scene,
      act: async () => {
        ended = await chat(hermes, `Do it: ${scene.scenario}`)
      },
    },
  )
  return { ...traces, ended }
}

test('traces one prompt, after which the process ends', async () => {
  const { tree, ended } = await chatted({
    scenario: 'chat',
    description: 'hermes chat: one shell command',
    answer: asksFor([shell('echo hi')], 'It said hi.'),
  })
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('It said hi.') })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
          tool.terminal OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
    "
  `)
})

test('traces one prompt that fails', async () => {
  const { tree } = await chatted({
    scenario: 'chat-fatal',
    description: 'hermes chat: a 401, which is not tried again',
    answer: () => ({ status: 401, error: 'no such key' }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot(`
    "
    agent ERROR AuthenticationError [hermes.turn.number=1, hermes.turn.final_status=failed]
      llm.fake-1 UNSET (incomplete: turn_ended)
        api.fake-1 ERROR AuthenticationError [http.response.status_code=401]
    "
  `)
})

test('traces a child that dies when the process ends', async () => {
  let childHasAsked = (): void => undefined
  const childAsks = new Promise<void>(resolve => {
    childHasAsked = resolve
  })
  const nothing = new Promise<never>(() => undefined)
  const { spans } = await chatted({
    scenario: 'chat-delegation',
    description: 'hermes chat: a child agent that works in the background, and dies with the process',
    answer: async request => {
      if (request.prompt.includes('count')) {
        childHasAsked()
        return await nothing
      }
      if (request.toolResults > 0) await childAsks
      return asksFor([delegate('count them')], 'It is under way.')(request)
    },
  })
  const [turn, child] = spans
    .filter(({ name }) => name === 'agent')
    .toSorted((one, other) => one.startAt - other.startAt)
  expect(turn?.attributes['hermes.turn.final_status']).toBe('completed')
  // Whether the child's end is still heard depends on how fast the process goes.
  expect(child?.attributes['hermes.turn.final_status']).toMatch(/^(interrupted|incomplete)$/)
  expect(child?.traceId).toBe(turn?.traceId)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Ended } from '../host-process.ts'
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

async function chatted(
  scene: Omit<Scene, 'act'>,
): Promise<{ readonly tree: string; readonly ended: Ended | undefined }> {
  let ended: Ended | undefined
  const { tree } = await lived(
    { hermes, model, proxy },
    {
      ...scene,
      act: async () => {
        ended = await chat(hermes, `Do it: ${scene.scenario}`)
      },
    },
  )
  return { tree, ended }
}

test('one prompt, and the process ends', async () => {
  const { tree, ended } = await chatted({
    scenario: 'chat',
    description: 'hermes chat: one shell command',
    answer: asksFor([shell('echo hi')], 'It said hi.'),
  })
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('It said hi.') })
  expect(`\n${tree}\n`).toMatchInlineSnapshot()
})

test('one prompt that fails', async () => {
  const { tree } = await chatted({
    scenario: 'chat-fatal',
    description: 'hermes chat: a 401, which is not tried again',
    answer: () => ({ status: 401, error: 'no such key' }),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot()
})

test('a child that dies when the process ends', async () => {
  const { tree } = await chatted({
    scenario: 'chat-delegation',
    description: 'hermes chat: a child agent that works in the background, and dies with the process',
    answer: request =>
      request.prompt.includes('count')
        ? asksFor([shell('sleep 60')], 'There are three.')(request)
        : asksFor([delegate('count them')], 'It is under way.')(request),
  })
  expect(`\n${tree}\n`).toMatchInlineSnapshot()
})

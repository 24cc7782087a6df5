/** As a person uses it: `hookspan init hermes`, and from then on Hermes has a receiver started, and its turns are there. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Ended, hookspanFolder, hostNode, runHost, tracesOf } from '../live-host.ts'
import { asksFor, shell } from './answers.ts'
import { type BareHome, bareHome, chat, startChat } from './hermes-home.ts'
import { RefusingProxy, ScriptedModel } from './scripted-model.ts'

const POLL_MILLIS = 50

let model: ScriptedModel
let proxy: RefusingProxy
let hermes: BareHome

beforeAll(async () => {
  model = await ScriptedModel.start()
  proxy = await RefusingProxy.start()
})

beforeEach(async () => {
  hermes = bareHome({ modelUrl: model.url, proxyUrl: proxy.url })
  expect(await hookspan('init', 'hermes')).toMatchObject({ code: 0 })
  return async () => {
    await hookspan('serve', '--stop')
  }
})

afterAll(async () => {
  await proxy?.close()
  await model?.close()
})

function hookspan(...args: readonly string[]): Promise<Ended> {
  return runHost(hostNode(), [join(hookspanFolder(), 'dist', 'cli', 'main.js'), ...args], { home: hermes.home })
}

function receiverPid(): number | undefined {
  try {
    const path = join(hermes.home, '.local', 'state', 'hookspan', 'receiver', 'address.json')
    return (JSON.parse(readFileSync(path, 'utf8')) as { pid: number }).pid
  } catch {
    return undefined
  }
}

/** What `hookspan tree` draws, once it draws this. */
async function drawn(text: string): Promise<string> {
  for (;;) {
    const { stdout } = await hookspan('tree')
    if (stdout.includes(text)) return stdout
    await new Promise(resolve => setTimeout(resolve, POLL_MILLIS))
  }
}

const TOOL_TURN = `
agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2106]
  llm.fake-1 OK
    api.fake-1 OK [gen_ai.usage.input_tokens=1020, gen_ai.usage.cache_read.input_tokens=102, gen_ai.usage.output_tokens=22, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool_calls]
      tool.terminal OK [hermes.tool.outcome=completed]
    api.fake-1 OK [gen_ai.usage.input_tokens=1040, gen_ai.usage.cache_read.input_tokens=104, gen_ai.usage.output_tokens=24, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]
`

test('traces a turn without a started receiver', async () => {
  model.play(asksFor([shell('echo hi')], 'It said hi.'))
  expect(await chat(hermes, 'Say hi')).toMatchObject({ code: 0, stdout: expect.stringContaining('It said hi.') })
  await drawn('completed')
  await hookspan('serve', '--stop')
  expect(`\n${(await tracesOf(hermes.home)).tree}\n`).toBe(TOOL_TURN)
})

test('builds one tree if the receiver is killed while a tool runs', async () => {
  // Not for a time: on a busy machine it would be over before it is seen, and nobody would be left to start another receiver.
  const over = join(hermes.home, 'over')
  model.play(asksFor([shell(`until test -e ${over}; do sleep 0.1; done`)], 'Waited.'))
  const turn = startChat(hermes, 'Wait')
  const ended = turn.end()
  await drawn('until test')
  const killed = receiverPid()
  process.kill(killed ?? 0, 'SIGKILL')
  writeFileSync(over, '')
  expect(await ended).toMatchObject({ code: 0 })
  await drawn('completed')
  expect(receiverPid()).not.toBe(killed)
  await hookspan('serve', '--stop')
  expect(`\n${(await tracesOf(hermes.home)).tree}\n`).toBe(TOOL_TURN)
})

test('marks open spans if Hermes is killed while a tool runs', async () => {
  model.play(asksFor([shell('sleep 60')], 'Slept.'))
  const turn = startChat(hermes, 'Sleep')
  const ended = turn.end()
  await drawn('sleep 60')
  await turn.stop('SIGKILL')
  await ended
  const tree = await drawn('running')
  expect(tree).toMatch(/tool\.terminal\s+sleep 60.*running/)
  expect(tree).toMatch(/api\.fake-1.*tool_calls/)
})

test('does not affect Hermes if the receiver hangs, or is none', async () => {
  model.play(asksFor([shell('echo hi')], 'It said hi.'))
  const directory = join(hermes.home, '.local', 'state', 'hookspan', 'receiver')
  await hookspan('serve', '--detach')
  const pid = receiverPid() ?? 0
  process.kill(pid, 'SIGSTOP')
  const ended = await chat(hermes, 'Say hi')
  process.kill(pid, 'SIGCONT')
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('It said hi.') })
  await drawn('completed')
  await hookspan('serve', '--stop')
  expect(`\n${(await tracesOf(hermes.home)).tree}\n`).toBe(TOOL_TURN)
  writeFileSync(join(directory, 'token'), '')
  expect(await chat(hermes, 'Say hi')).toMatchObject({ code: 0, stdout: expect.stringContaining('It said hi.') })
})

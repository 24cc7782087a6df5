/** As a person uses it: nobody starts a receiver, and the run is there. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { startModelServer } from '../../support/model-server.mjs'
import { type Ended, hookspanFolder, hostNode, runHost, scratchHome, startHost, tracesOf } from '../live-host.ts'
import { type Answer, asksFor, asksForWeather } from '../sdk-program.ts'
import { programOf } from './locus.ts'

const POLL_MILLIS = 50

let home: string

beforeEach(() => {
  home = scratchHome()
  return async () => {
    await hookspan('serve', '--stop')
  }
})

function hookspan(...args: readonly string[]): Promise<Ended> {
  return runHost(hostNode(), [join(hookspanFolder(), 'dist', 'cli', 'main.js'), ...args], { home })
}

/** What `hookspan tree` draws, once it draws this. */
async function drawn(text: string): Promise<string> {
  for (;;) {
    const { stdout } = await hookspan('tree')
    if (stdout.includes(text)) return stdout
    await new Promise(resolve => setTimeout(resolve, POLL_MILLIS))
  }
}

function receiverPid(): number {
  const path = join(home, '.local', 'state', 'hookspan', 'receiver', 'address.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { pid: number }).pid
}

async function withModel<Result>(answer: Answer, use: (url: string) => Promise<Result>): Promise<Result> {
  const server = await startModelServer(answer)
  try {
    return await use(server.url)
  } finally {
    await server.close()
  }
}

const TURN = `
agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274]
  llm.fake-1 OK
    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_calls]
      tool.get_weather OK [hermes.tool.outcome=completed]
    api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=stop]
`

test('traces a run without a started receiver', async () => {
  const ended = await withModel(asksForWeather, url => runHost(...programOf(home, url, {})))
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  await drawn('completed')
  await hookspan('serve', '--stop')
  expect(`\n${(await tracesOf(home)).tree}\n`).toBe(TURN)
})

test('builds one tree if the receiver is killed while a tool runs', async () => {
  const gate = join(home, 'gate')
  await withModel(asksFor([{ name: 'wait_for', arguments: { path: gate } }], 'Done.'), async url => {
    const ended = startHost(...programOf(home, url, {})).end()
    await drawn('wait_for')
    process.kill(receiverPid(), 'SIGKILL')
    writeFileSync(gate, '')
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
  })
  // The agent has had one started seconds ago, and asks for no other so soon: what it told lies in the spool.
  await hookspan('serve', '--detach')
  await drawn('completed')
  await hookspan('serve', '--stop')
  expect(`\n${(await tracesOf(home)).tree}\n`).toBe(TURN.replace('get_weather', 'wait_for'))
})

test('marks open spans if the agent is killed while a tool runs', async () => {
  const answer = asksFor([{ name: 'wait_for', arguments: { path: join(home, 'never') } }], 'Never.')
  await withModel(answer, async url => {
    const run = startHost(...programOf(home, url, {}))
    const ended = run.end()
    await drawn('wait_for')
    await run.stop('SIGKILL')
    await ended
  })
  const tree = await drawn('running')
  expect(tree).toMatch(/tool\.wait_for.*running/)
  expect(tree).toMatch(/api\.fake-1.*tool_calls/)
})

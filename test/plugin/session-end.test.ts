/** The end of a session is processed when the event loop turns. A process that ends before loses nothing. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readTraceFile } from '../../src/reading/stored-span.ts'
import { SAMPLED, sample } from '../support/sample.ts'
import { type Ended, runHost } from './child-host.ts'
import { scratchHome } from './scratch-plugin.ts'

const PLAYED = `
  let handleSignals = false
  const started = () => createPlugin({ host: 'toy', backends: [], handle_signals: handleSignals })
  const turn = (plugin, turn_id) => {
    const ids = { session_id: 's1', turn_id }
    plugin.emit('on_session_start', ids)
    plugin.emit('pre_llm_call', { ...ids, model: 'qwen3' })
    plugin.emit('pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1' })
    plugin.emit('post_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
    plugin.emit('post_llm_call', ids)
    return plugin.emit('on_session_end', { ...ids, completed: true })
  }
  const pause = millis => new Promise(resolve => setTimeout(resolve, millis))
`
const FIRST = `const plugin = started()
  const end = turn(plugin, 't1')`
/** The code is loaded and open by then. */
const SECOND = `const plugin = started()
  await turn(plugin, 't0')
  await pause(50)
  const end = turn(plugin, 't1')`

/** The names of the spans of turn t1 in the log that ended. */
async function storedIn(home: string): Promise<string[]> {
  const directory = join(home, '.local', 'state', 'hookspan', 'traces')
  const names: string[] = []
  for (const file of existsSync(directory) ? readdirSync(directory) : []) {
    for await (const entry of readTraceFile(join(directory, file))) {
      if (!('spans' in entry)) continue
      for (const { name, attributes } of entry.spans) {
        if (attributes['hermes.turn.id'] === 't1' && attributes['hermes.span.incomplete'] === undefined)
          names.push(name)
      }
    }
  }
  return names.sort()
}

async function played(body: string): Promise<Ended & { readonly stored: string[] }> {
  const home = scratchHome()
  const ended = await runHost(`${PLAYED}\n${body}`, { HOME: home })
  return { ...ended, stored: await storedIn(home) }
}

const WHOLE = ['agent', 'llm.qwen3', 'tool.terminal']
const BROKE = "throw new Error('the host broke')"

describe.each([
  ['the first turn of the process', FIRST],
  ['a later turn', SECOND],
])(`%s, ${SAMPLED}`, (_which, turn) => {
  const ENDS: readonly (readonly [string, string, Partial<Ended>])[] = [
    ['has nothing left to do', '', { code: 0 }],
    ['calls process.exit in the same tick', 'process.exit(3)', { code: 3 }],
    ['calls process.exit after the promise', 'await end\nprocess.exit(3)', { code: 3 }],
    ['calls process.exit after other code has awaited', 'await undefined\nprocess.exit(3)', { code: 3 }],
    ['sets its exit code and ends', 'process.exitCode = 4', { code: 4 }],
    ['throws', BROKE, { code: 1 }],
    ['throws in a promise', `void (async () => { ${BROKE} })()`, { code: 1 }],
    [
      'has a signal listener that exits',
      "process.on('SIGTERM', () => process.exit(5)); process.kill(process.pid, 'SIGTERM'); await pause(1000)",
      { code: 5 },
    ],
  ]

  test.concurrent.each(turn === FIRST ? ENDS : sample(ENDS, 3))(
    'is stored completely if the process %s',
    async (_how, body, ended) => {
      expect(await played(`${turn}\n${body}`)).toMatchObject({ ...ended, signal: null, stored: WHOLE })
    },
  )

  test.concurrent('is stored completely if a signal ends the process and `handle_signals` is set', async () => {
    const body = `handleSignals = true\n${turn}\nprocess.kill(process.pid, 'SIGTERM')\nawait pause(5000)`
    expect(await played(body)).toMatchObject({ signal: 'SIGTERM', stored: WHOLE })
  })

  test.concurrent('is stored completely if a signal ends the process after `log_flush_ms`', async () => {
    // Loading takes longer on a busy machine, and is not part of the promise.
    const body = `${turn}\nwhile (plugin.stats().backends.length === 0) await pause(1)
      await pause(150)
      process.kill(process.pid, 'SIGKILL')\nawait pause(5000)`
    expect(await played(body)).toMatchObject({ signal: 'SIGKILL', stored: WHOLE })
  })
})

test.each([
  ['ends', ''],
  ['calls process.exit', 'process.exit()'],
])('is stored completely if its worker thread %s', async (_how, ending) => {
  const entry = new URL('../../dist/index.js', import.meta.url).href
  const thread = `import { createPlugin } from '${entry}'\n${PLAYED}\n${FIRST}\n${ending}`
  const { code, stored } = await played(
    `import { Worker } from 'node:worker_threads'
     new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(thread)})))`,
  )
  expect({ code, stored }).toEqual({ code: 0, stored: WHOLE })
})

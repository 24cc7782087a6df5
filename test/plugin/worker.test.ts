import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { readTraceFile, type StoredSpan } from '../../src/reading/stored-span.ts'
import { scratchHome, scratchPlugin, tellTurn } from './scratch-plugin.ts'

const ENTRY = new URL('../../dist/index.js', import.meta.url).href

/** A thread that records the beginning of a turn, and then ends. */
function threadIn(home: string, ending: string): Promise<unknown[]> {
  const program = `import(${JSON.stringify(ENTRY)}).then(({ createPlugin }) => {
    const plugin = createPlugin({ host: 'thread', handle_signals: true })
    plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1', model: 'qwen3' })
    ${ending}
  })`
  const env = { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home }
  return once(new Worker(program, { eval: true, env, stdout: true, stderr: true }), 'exit')
}

async function stored(home: string): Promise<StoredSpan[]> {
  const directory = join(home, 'hookspan', 'traces')
  const spans: StoredSpan[] = []
  for (const name of readdirSync(directory)) {
    for await (const entry of readTraceFile(join(directory, name))) if ('spans' in entry) spans.push(...entry.spans)
  }
  return spans
}

describe('a plugin in a worker thread', () => {
  test.each([
    ['has nothing left to do', '', 0],
    ['calls process.exit', 'process.exit(3)', 3],
  ])('saves open spans when the thread %s', async (_how, ending, code) => {
    const home = scratchHome()
    expect(await threadIn(home, ending)).toEqual([code])
    const spans = await stored(home)
    expect(spans.map(({ name, attributes }) => [name, attributes['hermes.span.incomplete']])).toEqual([
      ['llm.qwen3', 'shutdown'],
      ['agent', 'shutdown'],
    ])
  })

  test('works beside one in the main thread, in one directory', async () => {
    const home = scratchHome()
    const { plugin } = scratchPlugin({}, home)
    const threads = [1, 2].map(() => threadIn(join(home, '.local', 'state'), ''))
    await tellTurn(plugin)
    await Promise.all(threads)
    await plugin.shutdown()
    const names = (await stored(join(home, '.local', 'state'))).map(({ name }) => name).sort()
    expect(names).toEqual(['agent', 'agent', 'agent', 'llm.qwen3', 'llm.qwen3', 'llm.qwen3', 'tool.terminal'])
  })
})

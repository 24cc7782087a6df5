import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { createDiagnostics } from '../../src/plugin/diagnostics.ts'
import { runHost } from './child-host.ts'
import { scratchHome } from './scratch-plugin.ts'

const IDS = { session_id: 's', turn_id: 't' }

function pluginIn(home: string, env: Record<string, string>) {
  return createPluginIn({ host: 'agent' }, { env, home, isReplay: false, diagnostics: createDiagnostics(undefined) })
}

/** What is in the trace log at this moment. */
function written(home: string): string {
  const directory = join(home, '.local', 'state', 'hookspan', 'traces')
  if (!existsSync(directory)) return ''
  return readdirSync(directory)
    .map(name => readFileSync(join(directory, name), 'utf8'))
    .join('')
}

test('has everything in the log when the hook returns with log_flush_ms: 0', async () => {
  const home = scratchHome()
  const plugin = pluginIn(home, { HOOKSPAN_LOG_FLUSH_MS: '0' })
  plugin.on('on_session_start', { ...IDS, model: 'm' })
  expect(written(home)).toMatch(/\{"hookspan\.open":.*"name":"agent"/)
  plugin.on('pre_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1' })
  plugin.on('post_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
  expect(written(home)).toMatch(/\n\{"resourceSpans":.*"name":"tool\.terminal"/)
  await plugin.shutdown()
})

test('notes a span that is open for longer than log_flush_ms, and no shorter one', async () => {
  const home = scratchHome()
  const plugin = pluginIn(home, { HOOKSPAN_LOG_FLUSH_MS: '1000' })
  plugin.on('on_session_start', { ...IDS, model: 'm' })
  plugin.on('pre_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1' })
  plugin.on('post_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
  expect(written(home)).toBe('')
  while (!written(home).includes('tool.terminal')) await new Promise(resolve => setTimeout(resolve, 5))
  const notes = written(home)
    .split('\n')
    .filter(line => line.startsWith('{"hookspan.open"'))
  expect(notes).toHaveLength(1)
  expect(notes[0]).not.toContain('tool.terminal')
  await plugin.shutdown()
})

test('writes first spans that waited for the log without waiting for log_flush_ms as well', async () => {
  const home = scratchHome()
  const plugin = pluginIn(home, { HOOKSPAN_LOG_FLUSH_MS: '3600000' })
  plugin.on('on_session_start', { ...IDS, model: 'm' })
  while (!written(home).includes('{"hookspan.open"')) await new Promise(setImmediate)
  plugin.on('pre_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1' })
  await plugin.shutdown()
})

test('loses at a kill no more than the last log_flush_ms of a host that blocks the event loop', async () => {
  const home = scratchHome()
  const { signal } = await runHost(
    `const plugin = createPlugin({ host: 'agent' })
     const ids = ${JSON.stringify(IDS)}
     const hold = millis => {
       const until = Date.now() + millis
       while (Date.now() < until);
     }
     plugin.emit('pre_llm_call', { ...ids, model: 'm' })
     for (const tool_call_id of ['c1', 'c2', 'c3']) {
       plugin.emit('pre_tool_call', { ...ids, tool_name: tool_call_id, tool_call_id })
       hold(150)
       plugin.emit('post_tool_call', { ...ids, tool_name: tool_call_id, tool_call_id, status: 'ok' })
     }
     process.kill(process.pid, 'SIGKILL')`,
    { HOME: home },
  )
  expect(signal).toBe('SIGKILL')
  expect(written(home)).toMatch(/"hookspan\.open":.*"name":"agent"/)
  for (const name of ['tool.c1', 'tool.c2', 'tool.c3']) expect(written(home)).toContain(`"name":"${name}"`)
})

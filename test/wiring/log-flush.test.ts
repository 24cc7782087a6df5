import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPluginIn } from '../../src/wiring/create-plugin.ts'
import { createDiagnostics } from '../../src/wiring/diagnostics.ts'
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

test('with log_flush_ms: 0 everything is in the log when the hook returns', async () => {
  const home = scratchHome()
  const plugin = pluginIn(home, { HOOKSPAN_LOG_FLUSH_MS: '0' })
  plugin.on('on_session_start', { ...IDS, model: 'm' })
  expect(written(home)).toMatch(/\{"hookspan\.open":.*"name":"agent"/)
  plugin.on('pre_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1' })
  plugin.on('post_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
  expect(written(home)).toMatch(/\n\{"resourceSpans":.*"name":"tool\.terminal"/)
  await plugin.shutdown()
})

test('a span that is open for longer than log_flush_ms is noted, a shorter one is not', async () => {
  const home = scratchHome()
  const plugin = pluginIn(home, { HOOKSPAN_LOG_FLUSH_MS: '20' })
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

test('what comes first has waited for the log, and is written without waiting for log_flush_ms as well', async () => {
  const home = scratchHome()
  const plugin = pluginIn(home, { HOOKSPAN_LOG_FLUSH_MS: '3600000' })
  plugin.on('on_session_start', { ...IDS, model: 'm' })
  while (!written(home).includes('{"hookspan.open"')) await new Promise(setImmediate)
  plugin.on('pre_tool_call', { ...IDS, tool_name: 'terminal', tool_call_id: 'c1' })
  await plugin.shutdown()
})

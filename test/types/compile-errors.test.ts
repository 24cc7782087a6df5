/** What a user's code must and must not compile to, against the declarations that are shipped. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SAMPLED, sample } from '../support/sample.ts'

const TOP = new URL('../../', import.meta.url).pathname
const TSC = join(TOP, 'node_modules/typescript/bin/tsc')

/** Each `@ts-expect-error` is an error itself where its line compiles. */
const PROGRAM = `
import { createPlugin, register, type BackendStats, type CoreStats, type HookPayloads, type HookRecord, type KeyName,
  type Plugin, type PluginOptions, type PluginStats, type ToolEnd, type UnreadStats, type UserConfig } from 'hookspan'
import { createTestPlugin, type StoredSpan, type TestPlugin } from 'hookspan/testing'

const plugin: Plugin = createPlugin({ host: 'mine', content_capture: 'full', backends: [{ type: 'jaeger' }, 'console'] })
const ids = { session_id: 's1', turn_id: 't1' }

// What compiles.
plugin.emit('on_session_start', { ...ids, model: 'qwen3' })
plugin.emit('pre_tool_call', { ...ids, tool_name: 'ls', args: { path: '/' }, tool_call_id: null }, { at: 1, host: 'h' })
plugin.emit('post_tool_call', { ...ids, result: 5, duration_ms: 12, error_type: null })
plugin.on('on_session_end', { ...ids, completed: true })?.then(() => undefined)
plugin.handlers.pre_tool_call({ tool_name: 'ls' })
plugin.emitUntyped('anything', { at: 'all' })
const payload: HookPayloads['post_tool_call'] = { duration_ms: 1 }
const same: ToolEnd = payload
const record: HookRecord<'pre_tool_call'> = { hook: 'pre_tool_call', payload: { tool_name: 'ls' }, at: 5 }
plugin.emit(record.hook, record.payload, record)
const stats: PluginStats = plugin.stats()
const [core, unread, backends]: [CoreStats, UnreadStats, readonly BackendStats[]] = [stats, stats.unread, stats.backends]
const options: PluginOptions = { sample_rate: 0.5, redact_patterns: ['x'], resource_attributes: { a: 'b' } }
const config: UserConfig = { ...options, redact: true }
const key: KeyName = 'sample_rate'
const inMemory: TestPlugin = createTestPlugin(options)
const spans: readonly StoredSpan[] = inMemory.spans()
register({ registerHook: (name, handler) => handler({ name }) }, options)
export { backends, config, core, key, same, spans, unread }

// What may be absent may be undefined, too.
const perhaps: string | undefined = Math.random() > 2 ? 'x' : undefined
plugin.emit('pre_llm_call', { session_id: perhaps, model: perhaps, is_first_turn: undefined }, { host: perhaps })
createPlugin({ host: perhaps, service_name: perhaps })
plugin.traceparent({ session_id: perhaps })

// What does not.
// @ts-expect-error: a misspelt hook
plugin.emit('pre_tool_cal', ids)
// @ts-expect-error: the same under the name for hosts
plugin.on('pre_tool_cal', ids)
// @ts-expect-error: the same of a function
plugin.handlers.pre_tool_cal
// @ts-expect-error: a misspelt field
plugin.emit('pre_tool_call', { tool_nam: 'x' })
// @ts-expect-error: a misspelt field beside known ones
plugin.emit('pre_tool_call', { ...ids, tool_name: 'x', arg: {} })
// @ts-expect-error: a field of another hook
plugin.emit('pre_tool_call', { ...ids, duration_ms: 5 })
// @ts-expect-error: a number as text
plugin.emit('post_tool_call', { ...ids, duration_ms: '12' })
// @ts-expect-error: a boolean as text
plugin.emit('on_session_end', { ...ids, completed: 'true' })
// @ts-expect-error: a list as text
plugin.emit('pre_approval_request', { ...ids, pattern_keys: 'rm' })
// @ts-expect-error: another type of an id
plugin.emit('pre_tool_call', { session_id: { id: 1 } })
// @ts-expect-error: no payload
plugin.emit('pre_tool_call')
// @ts-expect-error: a misspelt field of a handler's payload
plugin.handlers.pre_tool_call({ tool_nam: 'x' })
// @ts-expect-error: a misspelt name beside the payload
plugin.emit('pre_tool_call', ids, { att: 5 })
// @ts-expect-error: a word that there is not
plugin.emit('pre_tool_call', ids, { correlation: 'guessed' })
// @ts-expect-error: a misspelt key
createPlugin({ sample_rat: 0.5 })
// @ts-expect-error: a word that there is not
createPlugin({ content_capture: 'none' })
// @ts-expect-error: a number as text
createPlugin({ sample_rate: '0.5' })
// @ts-expect-error: a backend that there is not
createPlugin({ backends: [{ type: 'jeager' }] })
// @ts-expect-error: a field of a backend of another type
createPlugin({ backends: [{ type: 'jaeger', timeout_ms: 'long' }] })
// @ts-expect-error: the same in the other functions
createTestPlugin({ sample_rat: 0.5 })
// @ts-expect-error: the same in the other functions
register({}, { sample_rat: 0.5 })
`

const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  strict: ['--strict'],
  'exact optional properties': ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'],
  loose: ['--strict', 'false'],
}

let project: string

beforeAll(() => {
  // Beside the package, and not in a temporary folder: that is how its dependencies are found.
  mkdirSync(join(TOP, 'node_modules/.cache'), { recursive: true })
  project = mkdtempSync(join(TOP, 'node_modules/.cache/types-'))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(TOP, join(project, 'node_modules/hookspan'))
  writeFileSync(join(project, 'package.json'), '{"type": "module"}')
  writeFileSync(join(project, 'program.ts'), PROGRAM)
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

test.each(sample(Object.keys(SETTINGS), 1))(
  `compiles and rejects as expected with settings that are %s, ${SAMPLED}`,
  name => {
    const always = ['--ignoreConfig', '--noEmit', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
    const run = spawnSync(process.execPath, [TSC, ...always, ...(SETTINGS[name] ?? []), 'program.ts'], {
      cwd: project,
      encoding: 'utf8',
    })
    expect(run.stdout).toBe('')
    expect(run.status).toBe(0)
  },
)

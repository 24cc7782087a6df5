import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { ABLE } from '../../../src/agents/openclaw/hooks.ts'
import { type ModelReply, type ModelRequest, type ModelServer, startModelServer } from '../../support/model-server.mjs'
import { hookspanFolder, tracesOf } from '../live-host.ts'
import { Covered, hookSpans, LINE, pairsOf, REFUSED, told } from '../sdk-guards.ts'
import { type OpenClawHome, openClawHome, prompt } from './openclaw-host.ts'

// Each process of OpenClaw takes half a minute to begin with.
vi.setConfig({ testTimeout: 600_000 })

const covered = new Covered()
const servers: ModelServer[] = []
const GUARDS = readFileSync(new URL('guards.mjs', import.meta.url), 'utf8')
const FAILURES = ['throws', 'rejects', 'hangs', 'nonsense']

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function guarded(guards: 'tools' | 'turns' | 'goesOn' | 'asks', answer: (request: ModelRequest) => ModelReply) {
  const server = await startModelServer(answer)
  servers.push(server)
  const ours = (path: string): string => pathToFileURL(join(hookspanFolder(), 'dist', path)).href
  const pluginHead = `
    import { ask, block, createHooks, inject, retry, rewrite } from '${ours('hooks/index.js')}'
    import { attachHooks } from '${ours('hosts/openclaw/hooks.js')}'
    ${GUARDS}`
  const host = await openClawHome(server, { plugin: `attachHooks(api, createHooks(GUARDS.${guards}))`, pluginHead })
  for (const name of ['victim.txt', 'other.txt']) writeFileSync(join(host.home, 'workspace', name), 'precious')
  return { host, server }
}

function isThere({ home }: OpenClawHome, name: string): boolean {
  return existsSync(join(home, 'workspace', name))
}

/** All that the host has written down, whatever it writes. */
function kept({ home }: OpenClawHome): string {
  const folder = join(home, '.openclaw')
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

const exec = (command: string) => ({ name: 'exec', arguments: { command } })

test('blocks, rewrites, injects and fails by a guard as configured', async () => {
  const files = FAILURES.flatMap(way => [`${way}-pass`, `${way}-block`])
  const commands = ['rm victim.txt', 'echo original', 'echo secret', ...files.map(file => `touch ${file}`)]
  const { host, server } = await guarded('tools', ({ toolResults }) =>
    toolResults < commands.length ? { toolCalls: commands.map(exec) } : { text: 'Done.' },
  )
  const { code, stderr, stdout } = await prompt(host, 'What is up?', '--local')
  expect([code, stderr, stdout].join('\n')).toMatch(/^0\n/)
  const { spans } = await tracesOf(host.home)
  const results = told(server.requests, 'result')

  expect(isThere(host, 'victim.txt')).toBe(true)
  expect(results).toContain(REFUSED)
  expect(results).not.toContain('rm is not for agents')
  const blocked = spans
    .filter(({ name }) => name === 'tool.exec')
    .map(span => span.attributes['hermes.tool.blocked_by'])
  expect(blocked).toContain('no-rm')
  covered.has('beforeTool', 'block')

  expect(isThere(host, 'rewritten.txt')).toBe(true)
  expect(results).toContain('kept')
  covered.has('beforeTool', 'rewrite')

  for (const file of files) expect([file, isThere(host, file)]).toEqual([file, file.endsWith('-pass')])
  for (const file of files) expect(stderr).toContain(`hook ${file} failed in beforeTool`)

  expect(told(server.requests, 'user')).toContain(LINE)
  expect(server.requests.at(-1)?.system).toContain('The injected rule.')
  covered.has('beforeTurn', 'inject')

  // The run goes on with what the tool gave; what is kept of it is what the hook made of it.
  expect(results).toContain('secret')
  expect(kept(host)).toContain('The rewritten result.')
  covered.has('afterTool', 'rewrite')

  const failed = files.map(file => `hook.${file} before_tool failed ${file.endsWith('-block') ? 'blocked' : 'ran'}`)
  expect([...new Set(hookSpans(spans))].toSorted()).toEqual(
    [
      'hook.guard after_tool rewrite rewritten',
      'hook.guard before_tool rewrite rewritten',
      'hook.lines before_turn inject injected',
      'hook.no-rm before_tool block blocked',
      'hook.rules before_turn inject injected',
      ...failed,
    ].toSorted(),
  )
})

test('sends no request if a guard of the turn blocks it', async () => {
  const { host, server } = await guarded('turns', () => ({ text: 'Done.' }))
  const { stdout } = await prompt(host, 'What is up?', '--local')
  expect(server.requests).toEqual([])
  expect(stdout).toContain(REFUSED)
  covered.has('beforeTurn', 'block')
})

// Behind a tool that may have changed something the host accepts no other answer.
test('continues a turn by a guard', async () => {
  const { host, server } = await guarded('goesOn', ({ prompt: asked }) => ({
    text: asked.includes('Look once more.') ? 'Wet.' : 'Dry.',
  }))
  const { stdout } = await prompt(host, 'What is up?', '--local')
  expect(told(server.requests.slice(1), 'user')).toContain('Look once more.')
  expect(stdout).toContain('Wet.')
  expect(server.requests).toHaveLength(2)
  expect(hookSpans((await tracesOf(host.home)).spans)).toContain('hook.once-more after_turn retry retried')
  covered.has('afterTurn', 'retry')
})

test('asks by a guard, and runs nothing without an answer', async () => {
  const { host, server } = await guarded('asks', ({ toolResults }) =>
    toolResults === 0 ? { toolCalls: [exec('rm victim.txt')] } : { text: 'Done.' },
  )
  await prompt(host, 'What is up?', '--local')
  const { spans } = await tracesOf(host.home)
  expect([isThere(host, 'victim.txt'), isThere(host, 'other.txt')]).toEqual([true, true])
  expect(told(server.requests, 'result')).toMatch(/approv/i)
  expect(hookSpans(spans)).toContain('hook.guard before_tool ask asked')
  covered.has('beforeTool', 'ask')
})

test('covers each decision in the table', () => {
  expect(covered.pairs).toEqual(pairsOf(ABLE))
})

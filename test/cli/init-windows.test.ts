/** Only the platform is that of Windows: paths still have slashes. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { quoted } from '../../src/cli/init/hooks-host.ts'
import { expandHome } from '../../src/plugin/config/paths.ts'
import { InitScene } from './init-scene.ts'

const { platform } = process
const pretend = (value: NodeJS.Platform) => Object.defineProperty(process, 'platform', { value })

let scene: InitScene
beforeEach(() => {
  pretend('win32')
  scene = new InitScene()
})
afterEach(() => {
  pretend(platform)
  scene.remove()
})

type Hook = { command?: string; bash?: string; powershell?: string; shell?: string; args?: string[] }

function hooksIn(file: string): Hook[] {
  const { hooks } = JSON.parse(scene.read(file)) as { hooks: Record<string, (Hook & { hooks?: Hook[] })[]> }
  return Object.values(hooks).flatMap(entries => entries.flatMap(entry => entry.hooks ?? [entry]))
}

const program = (folder = scene.folder): string => join(folder, 'dist', 'hook.cjs')

describe.each([
  ['claude-code', '.claude/settings.json'],
  ['codex', '.codex/hooks.json'],
  ['cursor', '.cursor/hooks.json'],
  ['copilot', '.copilot/hooks/hookspan.json'],
  ['gemini', '.gemini/settings.json'],
  ['qwen', '.qwen/settings.json'],
])('hookspan init %s on Windows', (host, file) => {
  test('starts Node and no shell script, and can be undone', async () => {
    expect((await scene.init([host])).code).toBe(0)
    const commands = hooksIn(file).flatMap(({ command, bash, args = [] }) => {
      const line = [command ?? bash, ...args].join(' ')
      return line === '' ? [] : [line]
    })
    expect(commands.length).toBeGreaterThan(0)
    for (const line of commands) expect(line).toContain(`${process.execPath} ${program()} ${host}`)
    expect(JSON.stringify(hooksIn(file))).not.toMatch(/\/bin\/sh|"sh"|hook\.sh/)
    expect((await scene.init([host])).stdout).toMatch(/^Nothing to do: /)
    await scene.init([host, '--undo'])
    expect(scene.names().filter(name => !name.startsWith('.local'))).toEqual([])
  })
})

test.each([
  ['gemini', '.gemini/settings.json', undefined],
  ['qwen', '.qwen/settings.json', 'powershell'],
])('calls a program in PowerShell: %s', async (host, file, shell) => {
  const folder = scene.install('Program Files/hookspan')
  await scene.init([host], { folder })
  const lines = hooksIn(file).filter(({ command }) => command !== undefined)
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) {
    expect(line.command).toMatch(/^& \S+ ".*Program Files.*hook\.cjs" \w+( --up)?$/)
    expect(line.shell).toBe(shell)
  }
})

test('quotes words only if they need it', () => {
  expect(quoted(String.raw`C:\nodejs\node.exe`)).toBe(String.raw`C:\nodejs\node.exe`)
  expect(quoted(String.raw`C:\Program Files\node.exe`)).toBe(String.raw`"C:\Program Files\node.exe"`)
  expect(quoted('a%b')).toBe('"a%b"')
  pretend('linux')
  expect(quoted(String.raw`a\b`)).toBe(String.raw`'a\b'`)
})

test('expands the home directory before a backslash', () => {
  expect(expandHome(String.raw`~\traces`, '/home/you')).toBe(join('/home/you', String.raw`\traces`))
  pretend('linux')
  expect(expandHome(String.raw`~\traces`, '/home/you')).toBe(String.raw`~\traces`)
})

test('knows a link whose target ends in a separator', async () => {
  await scene.init(['hermes'])
  const link = scene.path('.hermes/plugins/hookspan')
  await scene.init(['hermes', '--undo'])
  scene.put('.hermes/plugins/other', '')
  symlinkSync(`${join(scene.folder, 'integrations', 'hermes')}/`, link)
  await scene.init(['hermes'])
  expect((await scene.init(['hermes'])).stdout).toMatch(/^Nothing to do: Hermes loads hookspan already/)
})

import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InitScene } from './init-scene.ts'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

interface Host {
  readonly host: string
  readonly file: string
  readonly next: RegExp
  readonly folders: readonly string[]
}

const HOSTS: readonly Host[] = [
  { host: 'codex', file: '.codex/hooks.json', next: /Start codex: it shows "Hooks need review"/, folders: ['.codex'] },
  { host: 'cursor', file: '.cursor/hooks.json', next: /It follows the documentation of Cursor/, folders: ['.cursor'] },
  {
    host: 'copilot',
    file: '.copilot/hooks/hookspan.json',
    next: /Copilot loads it at its next start/,
    folders: ['.copilot', '.copilot/hooks'],
  },
]

type Entry = { command?: string; bash?: string; hooks?: { command: string }[] }

function entries(file: string): Record<string, Entry[]> {
  return (JSON.parse(scene.read(file)) as { hooks: Record<string, Entry[]> }).hooks
}

function commandsOf(list: readonly Entry[] = []): string[] {
  return list.flatMap(({ command, bash, hooks }) => hooks?.map(hook => hook.command) ?? [bash ?? command ?? ''])
}

describe.each(HOSTS)('hookspan init $host', ({ host, file, next, folders }) => {
  const ours = (folder = scene.folder): string =>
    ['/bin/sh', join(folder, 'dist', 'hook.sh'), process.execPath, host].join(' ')

  test('makes each hook start the forwarder, and reports the next step; a second time there is nothing to do', async () => {
    const { code, stdout } = await scene.init([host])
    expect(code).toBe(0)
    expect(stdout).toMatch(next)
    const lists = Object.values(entries(file))
    expect(lists.length).toBeGreaterThanOrEqual(8)
    for (const list of lists) expect(commandsOf(list)).toEqual([expect.stringContaining(ours())])
    const again = await scene.init([host])
    expect(again.stdout).toMatch(/^Nothing to do: /)
    expect(again.stdout).toMatch(next)
  })

  test('leaves nothing behind after --undo', async () => {
    await scene.init([host])
    expect((await scene.init([host, '--undo'])).stdout).toContain('(removed)')
    expect(scene.names()).toEqual([])
    expect((await scene.init([host, '--undo'])).stdout).toMatch(/^Nothing to do: /)
  })

  test('leaves empty folders that were there before', async () => {
    mkdirSync(scene.path(dirname(file)), { recursive: true })
    await scene.init([host])
    await scene.init([host, '--undo'])
    expect(scene.names()).toEqual(folders)
  })

  test('removes only its mark from a folder that the host uses', async () => {
    await scene.init([host])
    const used = scene.put(join(folders[0] ?? '', 'log'), '')
    await scene.init([host, '--undo'])
    expect(scene.names().map(name => scene.path(name))).toEqual([dirname(used), used])
  })

  test('asks at a terminal', async () => {
    const declined = await scene.init([host], { typed: 'n\n' })
    expect(declined).toMatchObject({
      code: 1,
      stderr: `\nSet up ${host}? [y/N] Nothing has been written.\n`,
    })
    expect(scene.names()).toEqual([])
    expect(await scene.init([host], { typed: 'y\n' })).toMatchObject({ code: 0 })
    expect(await scene.init([host, '--undo', '--yes'], { typed: '' })).toMatchObject({ code: 0, stderr: '' })
    expect(scene.names()).toEqual([])
  })

  test('shows the same entries once', async () => {
    const { stdout } = await scene.init([host])
    expect(stdout).toMatch(/\n\+ {5}… the same as \w+: (\w+, ){3,}\w+\n/)
    expect(stdout.split(`hook.sh ${process.execPath} ${host}`).length).toBeLessThan(8)
  })

  test('keeps comments between entries, and the form of a list on one line', async () => {
    const event = host === 'cursor' ? 'stop' : 'Stop'
    const text = `{\n  "version": 1,\n  "hooks": {\n    // all\n    "${event}": [{ "command": "theirs" } /* mine */ ],\n    "other": [\n      // first\n      {}\n    ]\n  }\n}\n`
    scene.put(file, text)
    expect((await scene.init([host])).code).toBe(0)
    expect(scene.read(file)).toContain('// all\n')
    expect(scene.read(file)).toMatch(/": \[\{ "command": "theirs" \}, \/\* mine \*\/ \{.*\} \],\n/)
    scene.put(file, scene.read(file).replace('// all', '// each'))
    expect((await scene.init([host, '--undo'])).code).toBe(0)
    expect(scene.read(file)).toBe(text.replace('// all', '// each'))
  })

  test('keeps other entries, and restores them byte by byte', async () => {
    const before = `{\n   "version": 1, "mine": [1],\n   "hooks": {"${host === 'codex' ? 'Stop' : 'stop'}": [{"command": "theirs"}], "other": []}\n}\n\n`
    scene.put(file, before)
    await scene.init([host])
    expect(JSON.parse(scene.read(file))).toMatchObject({ mine: [1], hooks: { other: [] } })
    expect(Object.values(entries(file)).flatMap(commandsOf)).toContain('theirs')
    expect((await scene.init([host, '--undo'])).stdout).toContain('byte by byte')
    expect(scene.read(file)).toBe(before)
    expect(scene.names()).toEqual([...folders, file])
  })

  test('replaces another copy of hookspan', async () => {
    await scene.init([host])
    const folder = scene.install('other/node_modules/hookspan')
    await scene.init([host], { folder })
    for (const list of Object.values(entries(file))) {
      expect(commandsOf(list)).toEqual([expect.stringContaining(ours(folder))])
    }
  })

  test('writes nothing with --print and --dry-run', async () => {
    const { stdout, stderr } = await scene.init([host, '--print'])
    expect(Object.keys((JSON.parse(stdout) as { hooks: object }).hooks).length).toBeGreaterThanOrEqual(8)
    expect(stderr).toContain(scene.path(file))
    await scene.init([host, '--dry-run'])
    expect(scene.names()).toEqual([])
  })

  test('quotes a folder with a blank in its name as one word for the shell', async () => {
    await scene.init([host], { folder: scene.install("it's here/hookspan") })
    const [list] = Object.values(entries(file))
    expect(commandsOf(list)[0]).toContain(`it'\\''s here/hookspan/dist/hook.sh' `)
    expect((await scene.init([host, '--undo'], { folder: scene.install("it's here/hookspan") })).code).toBe(0)
    expect(scene.names()).toEqual([])
  })

  test.each([
    ['{ // mine\n hooks: {} }', 1, /stays as it is: it is JSON5/],
    ['[]', 1, /stays as it is: it holds no object/],
    ['{ "hooks": [] }', 1, /stays as it is: hooks there is no object/],
    ['{ "hooks": { "x": {} } }', 1, /stays as it is: hooks\.x there is no list/],
    ['{ nonsense', 1, /it stays as it is/],
  ])('leaves %j as it is', async (text, expected, message) => {
    scene.put(file, text)
    const { code, stderr } = await scene.init([host])
    expect(code).toBe(expected)
    expect(stderr).toMatch(message)
    expect(scene.read(file)).toBe(text)
  })

  test('needs a hookspan that is whole', async () => {
    const folder = join(scene.folder, 'empty')
    expect((await scene.init([host], { folder })).stderr).toContain(`there is no ${folder}/dist/hook.cjs`)
  })
})

test("keeps the user's hook in a group of Codex's", async () => {
  await scene.init(['codex'])
  const root = JSON.parse(scene.read('.codex/hooks.json')) as { hooks: Record<string, Entry[]> }
  root.hooks['Stop']?.[0]?.hooks?.push({ command: 'theirs' })
  scene.put('.codex/hooks.json', JSON.stringify(root))
  await scene.init(['codex', '--undo'])
  expect(JSON.parse(scene.read('.codex/hooks.json'))).toEqual({ hooks: { Stop: [{ hooks: [{ command: 'theirs' }] }] } })
})

test("refuses no tool of Copilot's without the forwarder, and writes the version into files", async () => {
  for (const host of ['cursor', 'copilot']) await scene.init([host])
  const [entry] = entries('.copilot/hooks/hookspan.json')['PreToolUse'] ?? []
  expect(entry?.bash).toMatch(/ copilot \|\| true$/)
  for (const file of ['.cursor/hooks.json', '.copilot/hooks/hookspan.json']) {
    expect(JSON.parse(scene.read(file))).toMatchObject({ version: 1 })
  }
})

test('finds Codex in a home of its own', async () => {
  await scene.init(['codex'], { env: { CODEX_HOME: scene.path('elsewhere') } })
  expect(scene.names()).toEqual(['elsewhere', 'elsewhere/.hookspan-created', 'elsewhere/hooks.json'])
})

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
  /** What the program is told, by event; those without are told nothing. */
  readonly open: Readonly<Record<string, string>>
  readonly closed: Readonly<Record<string, string>>
}

const EXIT2 = ' --closed exit2'
const HOSTS: readonly Host[] = [
  {
    host: 'codex',
    file: '.codex/hooks.json',
    open: {
      SessionStart: ' --up',
      UserPromptSubmit: ' --decide',
      PreToolUse: ' --decide',
      PostToolUse: ' --decide',
      SubagentStop: ' --decide',
      Stop: ' --decide',
    },
    closed: { UserPromptSubmit: EXIT2, PreToolUse: EXIT2, PostToolUse: EXIT2 },
  },
  {
    host: 'gemini',
    file: '.gemini/settings.json',
    open: {
      SessionStart: ' --up',
      BeforeAgent: ' --decide',
      BeforeModel: ' --decide',
      BeforeTool: ' --decide',
      AfterTool: ' --decide',
      AfterAgent: ' --decide',
    },
    closed: { BeforeAgent: EXIT2, BeforeModel: EXIT2, BeforeTool: EXIT2, AfterTool: EXIT2 },
  },
]

interface Settings {
  readonly hooks: Readonly<Record<string, readonly { readonly hooks: readonly { readonly command: string }[] }[]>>
}

describe.each(HOSTS)('hookspan init $host --guards', ({ host, file, open, closed }) => {
  const options = (): Record<string, string> => {
    const { hooks } = JSON.parse(scene.read(file)) as Settings
    const all = Object.entries(hooks).map(([event, groups]) => {
      const command = groups.flatMap(group => group.hooks.map(hook => hook.command)).join('\n')
      return [event, command.split(` ${host}`).at(-1) ?? ''] as const
    })
    return Object.fromEntries(all.filter(([, option]) => option !== ''))
  }

  test('waits with open for decisions, and continues without an answer', async () => {
    expect((await scene.init([host, '--guards', 'open'])).stdout).toContain('it continues.')
    expect(options()).toEqual(open)
  })

  test('blocks with closed in that case, but lets a turn end', async () => {
    expect((await scene.init([host, '--guards', 'closed'])).stdout).toContain('it blocks tools and prompts.')
    expect(options()).toEqual({ ...open, ...closed })
  })

  test('waits for nothing but the receiver by default; set up again, it stays as it is, until it is off', async () => {
    await scene.init([host])
    expect(options()).toEqual({ SessionStart: ' --up' })
    await scene.init([host, '--guards', 'closed'])
    expect((await scene.init([host])).stdout).toMatch(/^Nothing to do: /)
    expect(options()).toEqual({ ...open, ...closed })
    await scene.init([host, '--guards', 'open'])
    expect(options()).toEqual(open)
    await scene.init([host, '--guards', 'off'])
    expect(options()).toEqual({ SessionStart: ' --up' })
  })

  test('restores the file byte by byte with --undo', async () => {
    const before = '{\n   "mine": [1], "hooks": {"Other": []}\n}\n\n'
    scene.put(file, before)
    await scene.init([host, '--guards', 'closed'])
    expect((await scene.init([host, '--undo'])).stdout).toContain('byte by byte')
    expect(scene.read(file)).toBe(before)
  })
})

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InitScene } from './init-scene.ts'

const TOKEN = 'ab'.repeat(32)
const STATE = '.local/state/hookspan/receiver'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
  scene.put(`${STATE}/token`, `${TOKEN}\n`)
  scene.put(`${STATE}/port`, '4711\n')
})
afterEach(() => scene.remove())

interface OurHook {
  readonly type: string
  readonly headers?: Record<string, string>
  readonly timeout: number
  readonly onFailure?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly async?: boolean
}

const FILES = { 'claude-code': '.claude/settings.json', qwen: '.qwen/settings.json' } as const
type Host = keyof typeof FILES

/** By event: what of a hook says whether its agent waits. */
function shown(host: Host): Record<string, string> {
  const { hooks } = JSON.parse(scene.read(FILES[host])) as { hooks: Record<string, { hooks: OurHook[] }[]> }
  const each = Object.entries(hooks).map(([event, groups]) => {
    return [event, groups.flatMap(({ hooks: ours }) => ours.map(shownOf)).join(', ')] as const
  })
  return Object.fromEntries(each)
}

function shownOf({ type, headers, timeout, onFailure, command = '', args = [], async: isAsync }: OurHook): string {
  const options = [command, ...args].join(' ').match(/ --.*/)?.[0] ?? ''
  const asks = headers?.['x-hookspan-decide'] ?? ''
  return [type, asks, `${timeout}s`, onFailure ?? '', isAsync === true ? 'async' : '', options.trim()]
    .filter(word => word !== '')
    .join(' ')
}

const ASKED = ['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop'] as const

test.each<[Host, 'open' | 'closed', readonly string[]]>([
  [
    'claude-code',
    'open',
    [
      'http open 2s, command 5s async',
      'http open 2s',
      'http open 2s',
      'http open 2s',
      'http open 2s, command 5s async',
    ],
  ],
  [
    'claude-code',
    'closed',
    [
      'http closed 2s block, command 5s async',
      'http closed 2s block',
      'http closed 2s',
      'http closed 2s',
      'http closed 2s, command 5s async',
    ],
  ],
  [
    'qwen',
    'open',
    ['http open 2s, command 5s', 'http open 2s', 'http open 2s', 'http open 2s', 'http open 2s, command 5s'],
  ],
  [
    'qwen',
    'closed',
    [
      'command 5s --closed exit2',
      'command 5s --closed exit2',
      'http closed 2s',
      'http closed 2s',
      'http closed 2s, command 5s',
    ],
  ],
])('makes %s --guards %s wait where hooks may decide, and nowhere else', async (host, guards, expected) => {
  expect((await scene.init([host, '--guards', guards])).code).toBe(0)
  const { SessionStart, PostToolBatch, SessionEnd, ...hooks } = shown(host)
  expect(ASKED.map(event => hooks[event])).toEqual(expected)
  expect(SessionStart).toBe('command 5s --up')
  expect([PostToolBatch, SessionEnd, hooks['PermissionRequest']]).toEqual([
    host === 'qwen' ? 'http 1s, command 5s' : 'http 1s, command 5s async',
    'command 5s',
    'http 1s',
  ])
})

describe.each(['claude-code', 'qwen'] as const)('%s', host => {
  test('has a mode for the case without a receiver', async () => {
    const [open, closed] = [
      await scene.init([host, '--guards', 'open']),
      await scene.init([host, '--guards', 'closed']),
    ]
    expect(open.stdout).toContain('If the receiver does not answer, it continues.')
    expect(closed.stdout).toContain('If the receiver does not answer, it blocks tools and prompts.')
  })

  test('stays as it was set up, until changed', async () => {
    await scene.init([host])
    const unguarded = scene.read(FILES[host])
    await scene.init([host, '--guards', 'closed'])
    const closed = scene.read(FILES[host])
    expect((await scene.init([host])).stdout).toMatch(/^Nothing to do/)
    expect(scene.read(FILES[host])).toBe(closed)
    await scene.init([host, '--guards', 'open'])
    expect(scene.read(FILES[host])).not.toMatch(/onFailure|--closed/)
    await scene.init([host, '--guards', 'off'])
    expect(scene.read(FILES[host])).toBe(unguarded)
  })

  test('is as before when hookspan is removed', async () => {
    scene.put(FILES[host], '{ "mine": 1 }\n')
    await scene.init([host, '--guards', 'closed'])
    await scene.init([host, '--undo'])
    expect(scene.read(FILES[host])).toBe('{ "mine": 1 }\n')
  })

  test('prints its changes', async () => {
    const { stdout } = await scene.init([host, '--guards', 'open', '--print'])
    expect(stdout).toContain('"x-hookspan-decide": "open"')
    expect((await scene.init([host, '--print'])).stdout).not.toContain('x-hookspan-decide')
  })
})

test.each([
  [['pi', '--guards', 'open'], /--guards is for one of .*claude-code, .*qwen/],
  [['--guards', 'open'], /--guards is for one of .*claude-code, .*qwen/],
  [['qwen', '--guards', 'shut'], /--guards takes open, closed, off, got "shut"/],
] as const)('rejects %j', async (args, message) => {
  const { code, stderr } = await scene.init([...args])
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})

import { describe, expect, test } from 'vitest'
import type { PluginOptions } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { feedSteps, type Step } from '../support/feed.ts'
import { answered, asked, TURN, used } from './scenes.ts'

const CWD = '/home/alice/work/customers/shop'
const AT_WORK = { cwd: CWD, repository: 'git@github.com:acme/web-shop.git', branch: 'fix/login' }
const RECORDED = {
  'hermes.workspace.directory': 'shop',
  'vcs.repository.name': 'web-shop',
  'vcs.ref.head.name': 'fix/login',
}
const WORK: readonly Step[] = [...asked(100), ...used(250), ...answered(400)]

function traced(steps: readonly Step[], options: PluginOptions = {}): TestPlugin {
  const plugin = createTestPlugin({ host: 'my-agent', ...options })
  feedSteps(plugin, steps)
  return plugin
}

const session = (facts: object, at = 0): Step => [
  at,
  'on_session_start',
  { session_id: 's1', model: 'qwen3', ...facts },
]
const prompt = (facts: object, at = 20): Step => [at, 'pre_llm_call', { ...TURN, model: 'qwen3', ...facts }]

/** The attributes of the workspace on the root, and on all spans below it. */
function workspaceOf(plugin: TestPlugin): readonly [root: object, below: object] {
  const of = (isRoot: boolean): object =>
    Object.fromEntries(
      plugin
        .spans()
        .filter(({ parentSpanId }) => (parentSpanId === undefined) === isRoot)
        .flatMap(({ attributes }) => Object.entries(attributes).filter(([name]) => /workspace|vcs/.test(name))),
    )
  return [of(true), of(false)]
}

describe('the workspace of a turn', () => {
  test.each([
    ['the start of its session', [session(AT_WORK), prompt({}), ...WORK]],
    ['its prompt', [session({}), prompt(AT_WORK), ...WORK]],
    ['a prompt of an unannounced session', [prompt(AT_WORK), ...WORK]],
    ['a session start that comes after its prompt', [prompt({}), session(AT_WORK, 30), ...WORK]],
  ])('is on its root alone, from %s', (_, steps) => {
    expect(workspaceOf(traced(steps))).toEqual([RECORDED, {}])
  })

  test('is that of its session if its own prompt has none', () => {
    const again = { session_id: 's1', turn_id: 't2' }
    const steps: readonly Step[] = [
      [900, 'pre_llm_call', again],
      [950, 'on_session_end', { ...again, completed: true }],
    ]
    const roots = traced([session(AT_WORK), prompt({}), ...WORK, ...steps]).spans()
    expect(roots.filter(({ attributes }) => attributes['hermes.workspace.directory'] === 'shop')).toHaveLength(2)
  })

  test('does not contain the whole path unless the configuration asks for it', () => {
    const contents = (options: PluginOptions): string =>
      JSON.stringify(traced([session(AT_WORK), ...WORK], options).spans())
    for (const content_capture of ['off', 'preview', 'full'] as const) {
      expect(contents({ content_capture })).not.toMatch(/alice|customers|acme/)
    }
    expect(contents({ workspace_capture: 'path' })).toContain(CWD)
  })

  test.each([
    { workspace_capture: 'off' },
    { content_capture: 'off' },
    { content_capture: 'off', workspace_capture: 'path' },
  ] as const)('is absent with %o', options => {
    expect(workspaceOf(traced([session(AT_WORK), prompt(AT_WORK), ...WORK], options))).toEqual([{}, {}])
  })

  test.each([
    [String.raw`C:\work\shop\\`, 'shop'],
    ['/', '/'],
    ['/home/alice', '~'],
    ['/Users/alice/', '~'],
    [String.raw`C:\Users\alice`, '~'],
    ['/home/alice/shop', 'shop'],
  ])('names the directory %s %s', (cwd, name) => {
    expect(workspaceOf(traced([session({ cwd }), ...WORK]))[0]).toEqual({ 'hermes.workspace.directory': name })
  })

  test('is redacted', () => {
    const branch = 'try-ghp_example0000000000example0000000000'
    const [root] = workspaceOf(
      traced([session({ cwd: '/w/EMP-123456', branch }), ...WORK], { redact_patterns: [String.raw`EMP-\d{6}`] }),
    )
    expect(root).toEqual({
      'hermes.workspace.directory': '[REDACTED]',
      'vcs.ref.head.name': expect.stringContaining('[REDACTED]'),
    })
    expect(JSON.stringify(root)).not.toContain('example0000')
  })

  test('survives values of other types', () => {
    expect(workspaceOf(traced([session({ cwd: 7, repository: {}, branch: [] }), ...WORK]))).toEqual([{}, {}])
  })
})

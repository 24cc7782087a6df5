/** The programs of docs/own-agent.md run as they stand there. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TurnHandle } from '../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../src/testing.ts'
import { blocks, ROOT, read } from './support/pages.ts'

const PAGE = read('docs/own-agent.md')
const [PROGRAM = '', TOOLS = '', RETRIES = '', STREAM = '', GENERATOR = ''] = blocks(PAGE, 'js')
const [TREE = ''] = blocks(PAGE, '')

const [model, messages] = ['m', []]
const overloaded = Object.assign(new Error('overloaded'), { status: 529 })

/** What the pieces of code have around them. */
function surroundings(): Record<string, unknown> {
  let attempts = 0
  return {
    model,
    messages,
    askPerson: async () => false,
    run: async () => 'done',
    show: () => undefined,
    runAgent: (child: TurnHandle) => child.request({ model }, async () => 'There are two.'),
    callModel: async () => {
      attempts += 1
      if (attempts < 3) throw overloaded
      return 'at last'
    },
    async *streamModel() {
      yield { model: 'm-1', usage: { input_tokens: 5, output_tokens: 1 } }
    },
  }
}

async function runPiece(code: string, given: Record<string, unknown>): Promise<void> {
  const AsyncFunction = (async () => undefined).constructor as new (
    ...args: string[]
  ) => (...given: unknown[]) => Promise<void>
  const all = { ...surroundings(), ...given }
  await new AsyncFunction(...Object.keys(all), code)(...Object.values(all))
}

async function inTurn(code: string): Promise<TestPlugin> {
  const hooks = createTestPlugin()
  await hooks.turn({}, turn => runPiece(code, { turn }))
  return hooks
}

test('has at most 30 lines, prints nothing, and draws the tree of the page', () => {
  expect(PROGRAM.trimEnd().split('\n').length).toBeLessThanOrEqual(30)
  const home = mkdtempSync(join(tmpdir(), 'hookspan-own-agent-'))
  try {
    const env = { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home }
    const node = (...args: string[]): string =>
      execFileSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' })
    expect(node('--input-type=module', '-e', PROGRAM)).toBe('')
    const [trace] = node('dist/cli/main.js', 'tree', '--json').trim().split('\n')
    const { spans } = JSON.parse(trace ?? '{}') as { spans: { depth: number; name: string; status: string }[] }
    expect(spans.map(span => `${'  '.repeat(span.depth)}${span.name} ${span.status.toUpperCase()}\n`).join('')).toBe(
      TREE,
    )
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})

test('has a tool that asks, and one that delegates', async () => {
  const hooks = await inTurn(TOOLS)
  expect(hooks.tree({ attributes: ['hermes.tool.outcome', 'hermes.approval.choice'] })).toBe(
    [
      'agent OK',
      '  llm OK',
      '    tool.terminal OK [hermes.tool.outcome=blocked]',
      '      approval.delete OK [hermes.approval.choice=deny]',
      '    tool.research OK [hermes.tool.outcome=completed]',
      '      subagent.scout OK',
      '        agent OK',
      '          llm.m OK',
      '            api.m OK',
    ].join('\n'),
  )
})

test('retries', async () => {
  const hooks = await inTurn(RETRIES)
  expect(hooks.tree({ attributes: ['hermes.api.attempt'] })).toBe(
    [
      'agent OK',
      '  llm OK',
      '    api.m ERROR Error [hermes.api.attempt=0]',
      '    api.m ERROR Error [hermes.api.attempt=1]',
      '    api.m OK [hermes.api.attempt=2]',
    ].join('\n'),
  )
})

test('has a stream', async () => {
  const hooks = await inTurn(STREAM)
  expect(hooks.tree({ attributes: ['gen_ai.usage.input_tokens'] })).toBe(
    'agent OK\n  llm OK\n    api.m OK [gen_ai.usage.input_tokens=5]',
  )
})

test('has a turn that is a generator', async () => {
  const hooks = createTestPlugin()
  await runPiece(GENERATOR, { hooks })
  expect(hooks.tree({ attributes: ['output.value'] })).toBe(
    'agent OK [output.value=Hello.]\n  llm OK [output.value=Hello.]\n    api.m OK',
  )
})

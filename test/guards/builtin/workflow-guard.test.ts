import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type WorkflowGuardOptions, workflowGuard } from '../../../src/guards/builtin/index.ts'
import { toolCallOf } from '../../../src/guards/index.ts'
import { afterwards } from '../../support/afterwards.ts'
import { Agent } from './steps.ts'

const PLAN = 'plans/active/plan.md'
const OPTIONS: WorkflowGuardOptions = {
  planPath: PLAN,
  allowedPaths: ['handoff', 'notes.md', './docs/'],
  root: '/srv/app',
  exists: () => false,
}
const patch = (...paths: string[]): object => ({ input: paths.map(path => `*** Update File: ${path}`).join('\n') })

/** What is called without a plan, and whether it is made. */
const CALLS: readonly (readonly [name: string, args: object, made: boolean])[] = [
  ['edit', { path: 'src/a.ts' }, false],
  ['Edit', { file_path: '/srv/app/src/a.ts' }, false],
  ['write', { path: 'src/a.ts' }, false],
  ['apply_patch', patch('src/a.ts'), false],
  ['read', { path: 'src/a.ts' }, true],
  ['bash', { command: 'ls' }, true],
  ['write', { path: PLAN }, true],
  ['write', { path: `/srv/app/${PLAN}` }, true],
  ['write', { path: 'plans/active/other.md' }, false],
  ['write', { path: 'handoff/a.md' }, true],
  ['write', { path: 'handoff/deep/a.md' }, true],
  ['write', { path: 'notes.md' }, true],
  ['write', { path: 'docs/a.md' }, true],
  // Segments, and not how a text begins.
  ['write', { path: 'handoff2/a.md' }, false],
  ['write', { path: 'handoff.md' }, false],
  ['write', { path: 'notes.md.bak' }, false],
  ['write', { path: 'handoff/../src/a.ts' }, false],
  ['write', { path: '/srv/app/handoff/../../etc/passwd' }, false],
  ['write', { path: '/etc/handoff/a.md' }, false],
  // All of them, and at least one.
  ['apply_patch', patch('handoff/a.md', 'docs/b.md'), true],
  ['apply_patch', patch('handoff/a.md', 'src/b.ts'), false],
  ['write', {}, false],
  ['edit', { path: '~other/a.md' }, false],
  ['edit', { path: 5 }, false],
]

test.each(CALLS)('decides without a plan: %s %j', async (name, args, isMade) => {
  const agent = new Agent(workflowGuard(OPTIONS))
  const words = await agent.call(name, { ...args })
  expect(words).toBe(
    isMade
      ? 'pass'
      : 'block by workflow-guard: There is no plan yet. Write one to plans/active/plan.md first, then make this change.',
  )
})

test('allows everything with a plan, and asks for it in the right place', async () => {
  const asked: string[] = []
  const exists = async (path: string): Promise<boolean> => asked.push(path) > 0
  const agent = new Agent(workflowGuard({ ...OPTIONS, exists }))
  expect([await agent.call('edit', { path: 'src/a.ts' }), await agent.call('write', {})]).toEqual(['pass', 'pass'])
  expect(asked).toEqual(['/srv/app/plans/active/plan.md', '/srv/app/plans/active/plan.md'])
})

test('blocks if it cannot find out whether there is a plan', async () => {
  const exists = (): boolean => {
    throw new Error('no disk')
  }
  expect(await new Agent(workflowGuard({ ...OPTIONS, exists })).call('edit', { path: 'a' })).toMatch(/^block/)
})

test('waits for a plan with other kinds and tools if configured', async () => {
  const agent = new Agent(workflowGuard({ ...OPTIONS, blockedKinds: ['shell'], blockedTools: ['mcp__files__move'] }))
  const call = async (name: string, args: Record<string, unknown> = {}) => (await agent.call(name, args)).split(' ')[0]
  expect(await call('bash', { command: 'ls' })).toBe('block')
  expect(await call('mcp__files__MOVE', { path: 'src/a' })).toBe('block')
  expect(await call('edit', { path: 'src/a' })).toBe('pass')
})

test('cannot find the project or the written file in a shell', async () => {
  const asked: string[] = []
  const exists = (path: string): boolean => asked.push(path) === 0
  const guard = workflowGuard({ planPath: PLAN, allowedPaths: ['handoff'], blockedKinds: ['shell'], exists })
  const agent = new Agent(guard)
  const decided = async (args: object): Promise<string> => {
    const tool = toolCallOf({ name: 'bash', arguments: { command: 'rm -r src', ...args }, cwd: '/srv/app' })
    return (await agent.ask('beforeTool', { tool })).decision
  }
  expect(await decided({ cwd: '/srv/other' })).toBe('block')
  expect(await decided({ workdir: 'handoff' })).toBe('block')
  expect(await decided({ directory: 'handoff' })).toBe('block')
  expect(await decided({ path: PLAN })).toBe('block')
  expect(new Set(asked)).toEqual(new Set(['/srv/app/plans/active/plan.md']))
})

test('checks files through links', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'workflow-guard-')))
  afterwards(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'handoff'))
  mkdirSync(join(root, 'src'))
  symlinkSync(join(root, 'src'), join(root, 'handoff/out'))
  const agent = new Agent(workflowGuard({ planPath: 'plan.md', allowedPaths: ['handoff'], root }))
  const call = async (path: string) => (await agent.call('write', { path: join(root, path) })).split(' ')[0]
  expect([await call('handoff/a.md'), await call('handoff/out/a.ts'), await call('src/a.ts')]).toEqual([
    'pass',
    'block',
    'block',
  ])
  writeFileSync(join(root, 'plan.md'), '')
  expect(await call('src/a.ts')).toBe('pass')
})

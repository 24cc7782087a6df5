import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { MACHINES } from '../../src/agents/machines.ts'
import { FIXTURES, type Fixture, fixturesOf, type Replayed, replayEvents } from './replay-fixture.ts'
import { workspaces } from './workspaces.ts'

/** Captures that were cut off while the host was at work. */
const CUT_OFF: ReadonlySet<string> = new Set(['gemini/fatal', 'opencode/err'])

/**
 * Spans of length zero are few, and each has its reason: see docs/spans.md.
 *
 * Side calls known from a sum; tools that do not exist, or were refused: nothing ran. A tool whose agent was killed: its start is
 * the last that was heard of it. One of which only the end is told.
 */
const INSTANTS = new Set([
  'ai-sdk tool.delete_file',
  'ai-sdk tool.telescope',
  'claude-agent-sdk aux.unlisted',
  'claude-agent-sdk tool.Telescope',
  'claude-code tool.Bash',
  'claude-code tool.NoSuchTool',
  'codex tool.Bash',
  'copilot tool.bash',
  'cursor tool.Edit',
  'gemini tool.run_shell_command',
  'qwen tool.no_such_tool',
  'qwen tool.read_file',
  'qwen tool.run_shell_command',
])

/** SDKs that know no directory, and Pi, whose captures are older than the field. */
const WITHOUT_DIRECTORY: ReadonlySet<string> = new Set(['ai-sdk', 'openai-agents', 'pi'])

const hosts = Object.keys(MACHINES).map(host => ({ host, fixtures: fixturesOf(host) }))

describe.each(hosts)('$host', ({ host, fixtures }) => {
  /** Each is replayed once for all tests. */
  const runs = new Map<Fixture, Promise<Replayed>>()

  function replayed(fixture: Fixture): Promise<Replayed> {
    const run = runs.get(fixture) ?? replayEvents(host, fixture.events)
    runs.set(fixture, run)
    return run
  }

  afterAll(() => runs.clear())

  test('has captures', () => {
    expect(fixtures.length).toBeGreaterThan(1)
  })

  test.each(fixtures)('builds the tree in the file beside it: $scenario', async fixture => {
    const { tree } = await replayed(fixture)
    await expect(`${tree}\n`).toMatchFileSnapshot(join(FIXTURES, host, `${fixture.scenario}.tree.txt`))
  })

  test.each(fixtures)(
    'builds one connected trace a turn, with all ends reported by the host: $scenario',
    async fixture => {
      const { plugin, leftOpen, tree } = await replayed(fixture)
      expect(tree).not.toMatch(/parent missing|ambiguous|retroactive/)
      expect(plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
      expect(plugin.reported).toEqual([])
      if (CUT_OFF.has(`${host}/${fixture.scenario}`)) return
      expect(leftOpen).toBe(0)
      expect(tree).not.toContain('incomplete')
    },
  )

  test('has only the listed instant spans', async () => {
    const found = new Set<string>()
    for (const fixture of fixtures) {
      const { plugin } = await replayed(fixture)
      for (const { name, startAt, endAt } of plugin.spans()) if (startAt === endAt) found.add(`${host} ${name}`)
    }
    expect([...found].toSorted()).toEqual([...INSTANTS].filter(name => name.startsWith(`${host} `)).toSorted())
  })

  if (!WITHOUT_DIRECTORY.has(host)) {
    test('records the name of the working directory', async () => {
      const found = await Promise.all(fixtures.map(async fixture => workspaces((await replayed(fixture)).plugin)))
      const names = found.flat().flatMap(workspace => Object.values(workspace))
      expect(names.length).toBeGreaterThan(0)
      for (const name of names) expect(name).toMatch(/^[\w-]+$/)
    })
  }
})

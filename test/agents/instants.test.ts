/** Spans of length zero are few, and each has its reason: see docs/spans.md. */
import { expect, test } from 'vitest'
import { MACHINES } from '../../src/agents/machines.ts'
import { fixturesOf, replayEvents } from './replay-fixture.ts'

/**
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

test.each(Object.keys(MACHINES))('has only the listed instant spans in the runs of %s', async host => {
  const found = new Set<string>()
  for (const { events } of fixturesOf(host)) {
    const { plugin } = await replayEvents(host, events)
    for (const { name, startAt, endAt } of plugin.spans()) if (startAt === endAt) found.add(`${host} ${name}`)
  }
  expect([...found].toSorted()).toEqual([...INSTANTS].filter(name => name.startsWith(`${host} `)).toSorted())
})

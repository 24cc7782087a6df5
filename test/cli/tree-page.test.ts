import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { renderOpenTurns } from '../../src/reading/open-turns-text.ts'
import { selectTraces } from '../../src/reading/trace-log.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../reading/sample-turn.ts'
import { blocks, read, section } from '../support/pages.ts'
import { fakeIo } from './fake-io.ts'

const { run } = treeCommand

/** Four minutes into the turn. */
const NOW = TURN_AT + 245_000
const TRACE = '7c035f25a90e4b4e8a2f6b1d0c9e3f51'

const spanOf = (
  id: string,
  parent: string,
  name: string,
  from: number,
  attributes: SpanNote['attributes'],
): SpanNote => ({
  id: `00000000000000${id}`,
  ...(parent !== '' && { parent: `00000000000000${parent}` }),
  trace: TRACE,
  name,
  from,
  to: from + 1_480,
  attributes: { 'session.id': 's-41c7', ...attributes },
})
const OPEN = [
  spanOf('a1', '', 'agent', 0, {
    'hermes.span.kind': 'session',
    'gen_ai.agent.name': 'toy',
    'hermes.turn.number': 3,
    'input.value': 'Why does CI fail?',
  }),
  spanOf('a2', 'a1', 'llm.qwen3', 0, { 'hermes.span.kind': 'llm' }),
  spanOf('a4', 'a3', 'tool.terminal', 1_550, { 'hermes.span.kind': 'tool', 'hermes.tool.command': 'npm test' }),
]
const REQUEST = spanOf('a3', 'a2', 'api.qwen3', 20, {
  'hermes.span.kind': 'api',
  'gen_ai.request.model': 'qwen3',
  'gen_ai.response.finish_reason': 'tool_calls',
  'gen_ai.usage.input_tokens': 1_200,
  'gen_ai.usage.output_tokens': 40,
  'llm.cost.total': 0.0123,
})

describe('docs/view.md', () => {
  const page = section(read('docs/view.md'), 'hookspan tree')
  const [drawn, below, summary, details] = blocks(page, 'text')

  let path = ''
  beforeEach(async () => {
    path = join(await mkdtemp(join(tmpdir(), 'hookspan-page-')), 't.jsonl')
    await writeFile(path, `${noteLine(...OPEN)}\n${exportLine(REQUEST)}\n`)
  })
  afterEach(() => rm(join(path, '..'), { recursive: true }))

  async function tree(...args: string[]): Promise<string> {
    const io = fakeIo({ columns: 100, env: { NO_COLOR: '1' }, now: () => NOW })
    await run(args, io)
    return io.written.stdout
  }

  test('shows the output as its samples', async () => {
    expect((await tree(path)).trimEnd()).toBe(drawn?.trimEnd())
    const { trees } = await selectTraces([path], { last: 1 })
    const lines = renderOpenTurns(trees, { width: 99, color: false, now: NOW, maxLines: 8 })
    expect(lines.join('\n')).toBe(below?.trimEnd())
    const one = await tree(path, TRACE.slice(0, 8))
    for (const sample of [summary, details]) {
      expect(sample?.trim().length).toBeGreaterThan(100)
      expect(one).toContain(sample?.trimEnd())
    }
  })

  test('has every option', async () => {
    for (const option of (await tree('--help')).match(/ --[a-z]+\b| -[nf]\b/g) ?? []) {
      if (option !== ' --help') expect(page).toContain(option.trim())
    }
  })
})

/** The pages about agents show what `hookspan tree` draws of a real run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MACHINES } from '../../src/agents/machines.ts'
import { replay as replayCommand } from '../../src/cli/commands/replay.ts'
import { tree as treeCommand } from '../../src/cli/commands/tree.ts'
import { fakeIo } from '../cli/fake-io.ts'
import { blocks, ROOT, read } from '../support/pages.ts'

const { run: replay } = replayCommand
const { run: tree } = treeCommand

/** A block of code is read without scrolling. */
const COLUMNS = 100
const LARGEST_LINES = 12

/** The capture that a tree was drawn from stands above it, for us alone. */
const DRAWN = /^<!-- (test\/fixtures\/([\w-]+)\/[\w-]+\.jsonl) -->\n\n```text\n([\s\S]*?)^```$/gm

let home = ''
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-pages-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** What the command of the page prints after that run. */
async function drawnOf(host: string, capture: string, own: string): Promise<string> {
  const given = { home: join(home, own), columns: COLUMNS, env: { NO_COLOR: '1' } }
  expect(await replay(['--host', host, join(ROOT, capture)], fakeIo(given))).toBe(0)
  const io = fakeIo(given)
  expect(await tree([], io)).toBe(0)
  return io.written.stdout
}

/** Hermes and Locus tell hook records themselves, so they need no machine. */
const PAGES = [...Object.keys(MACHINES), 'hermes', 'locus']

describe.each(PAGES)('docs/agents/%s.md', page => {
  const text = read(`docs/agents/${page}.md`)
  const trees = [...text.matchAll(DRAWN)].map(([, capture = '', host = '', body = '']) => ({ capture, host, body }))

  test('shows a tree, a short one, and the command that draws it', () => {
    const lines = trees.flatMap(({ body }) => body.trimEnd().split('\n'))
    expect(lines.length).toBeGreaterThan(5)
    expect(lines.length).toBeLessThanOrEqual(LARGEST_LINES)
    expect(blocks(text, 'sh')).toContain('npx hookspan tree\n')
  })

  test('has no tree without a capture', () => {
    expect(blocks(text).filter(body => body.includes('└─'))).toEqual(trees.map(({ body }) => body))
  })

  test.each(trees)('shows the tree of $capture', async ({ host, capture, body }) => {
    expect(host).toBe(page)
    expect(await drawnOf(host, capture, page)).toContain(body)
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HookRecord } from '../../../src/contract/index.ts'
import { FIXTURES } from '../shown.ts'
import { drawRecords } from './records.ts'

const FOLDER = join(FIXTURES, 'locus')
const scenarios = readdirSync(FOLDER)
  .filter(name => name.endsWith('.jsonl'))
  .map(name => name.slice(0, -'.jsonl'.length))

function recordsOf(scenario: string): HookRecord[] {
  const [, ...lines] = readFileSync(join(FOLDER, `${scenario}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map(line => JSON.parse(line) as HookRecord)
}

test('has captures of real runs', () => {
  expect(scenarios.length).toBeGreaterThan(10)
})

test.each(scenarios)('builds the tree in the file beside it: %s', async scenario => {
  const { tree } = await drawRecords(recordsOf(scenario))
  await expect(`${tree}\n`).toMatchFileSnapshot(join(FOLDER, `${scenario}.tree.txt`))
})

test.each(scenarios)('builds one connected trace a turn, with all ends reported by the host: %s', async scenario => {
  const { plugin, leftOpen, tree } = await drawRecords(recordsOf(scenario))
  expect(tree).not.toMatch(/parent missing|ambiguous|retroactive|incomplete:/)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  expect(plugin.stats().unread).toEqual({ hooks: 0, fields: 0, types: 0 })
  expect(plugin.reported).toEqual([])
  expect(leftOpen).toBe(0)
})

test('has no arguments of a call that a guardrail refused, because they may be the reason', () => {
  const told = recordsOf('guardrail').filter(({ payload }) => 'tool_name' in payload && payload.tool_name === 'shell')
  expect(told.map(({ hook }) => hook)).toEqual(['pre_tool_call', 'post_tool_call'])
  expect(JSON.stringify(told)).not.toContain('rm -rf')
})

test('omits conversations from records, unless content is captured in full', () => {
  const withMessages = scenarios.filter(scenario => JSON.stringify(recordsOf(scenario)).includes('"messages"'))
  expect(withMessages).toEqual(['full'])
})

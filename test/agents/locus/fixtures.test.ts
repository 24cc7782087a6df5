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

test('there are captures of real runs', () => {
  expect(scenarios.length).toBeGreaterThan(10)
})

test.each(scenarios)('%s: the tree that stands beside it', async scenario => {
  const { tree } = await drawRecords(recordsOf(scenario))
  await expect(`${tree}\n`).toMatchFileSnapshot(join(FOLDER, `${scenario}.tree.txt`))
})

test.each(scenarios)('%s: one connected trace a turn, everything ended by what the host said', async scenario => {
  const { plugin, leftOpen, tree } = await drawRecords(recordsOf(scenario))
  expect(tree).not.toMatch(/parent missing|ambiguous|retroactive|incomplete:/)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, duplicate: 0, error: 0 })
  expect(plugin.stats().unread).toEqual({ hooks: 0, fields: 0, types: 0 })
  expect(plugin.reported).toEqual([])
  expect(leftOpen).toBe(0)
})

test('a call that a guardrail has refused says nothing of its arguments, which may be why', () => {
  const told = recordsOf('guardrail').filter(({ payload }) => 'tool_name' in payload && payload.tool_name === 'shell')
  expect(told.map(({ hook }) => hook)).toEqual(['pre_tool_call', 'post_tool_call'])
  expect(JSON.stringify(told)).not.toContain('rm -rf')
})

test('conversations are not in records, unless content is captured in full', () => {
  const withMessages = scenarios.filter(scenario => JSON.stringify(recordsOf(scenario)).includes('"messages"'))
  expect(withMessages).toEqual(['full'])
})

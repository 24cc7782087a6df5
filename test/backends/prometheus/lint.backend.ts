import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { compose, imageVersion, text } from '../../observability/stack-files.ts'
import { freePorts } from '../support/free-port.ts'
import { installed } from '../support/installed.ts'
import { feedWorkload } from '../workload/feed.ts'
import { promtool } from './promtool.ts'

let home: string

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-promtool-'))
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

function file(name: string): string {
  return fileURLToPath(new URL(`../../../observability/${name}`, import.meta.url))
}

test('has the version of the compose file', () => {
  expect(imageVersion(compose.services['prometheus']?.image ?? '')).toBe(installed('prometheus').version)
})

test("accepts our endpoint's response in promtool without a complaint", async () => {
  const [port = 0] = await freePorts(1)
  const config = { prometheus: { host: '127.0.0.1', port }, backends: [] }
  const fed = await feedWorkload({ home, config, keepOpen: true })
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const metrics = await response.text()
  await fed.shutdown()
  expect(metrics).toContain('hermes_tokens_input_total{')
  expect(await promtool(['check', 'metrics'], metrics)).toEqual({ code: 0, output: '' })
})

test('accepts our alerts as rules, with the results of their cases', async () => {
  const checked = await promtool(['check', 'rules', file('rules.yml')])
  expect(checked).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') })
  const tested = await promtool(['test', 'rules', file('rules.test.yml')])
  expect(tested).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') })
})

test('accepts the whole configuration', async () => {
  const config = join(home, 'prometheus.yml')
  // In the container the rules lie elsewhere.
  writeFileSync(config, stringify({ ...parse(text('observability/prometheus.yml')), rule_files: [file('rules.yml')] }))
  const checked = await promtool(['check', 'config', config])
  expect(checked).toEqual({ code: 0, output: expect.stringMatching(/SUCCESS[\s\S]*SUCCESS/) })
})

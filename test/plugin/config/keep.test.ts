import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KEEP_DEFAULT } from '../../../src/plugin/config/keep.ts'
import { showConfig } from '../../../src/plugin/config/show.ts'
import { messages, resolved } from './scratch-home.ts'

const ALL =
  '{errors: false, denied: true, slower_than_ms: 500, waits_count: true, cost_over: 0.5, tokens_over: 9, tools: [Bash, edit], rate: 0.1, hold: false, max_bytes: 5}'

function shown(resolution: ReturnType<typeof resolved>): string | undefined {
  return showConfig(resolution).find(({ key }) => key === 'keep')?.value
}

test.each([
  ['false', undefined, 'off'],
  ['true', KEEP_DEFAULT, 'errors=true'],
  ['{rate: 0}', { ...KEEP_DEFAULT, rate: 0 }, 'errors=true rate=0'],
  ['{errors: false}', { ...KEEP_DEFAULT, errors: false }, 'nothing'],
  ['{tools: "bash, edit"}', { ...KEEP_DEFAULT, tools: ['bash', 'edit'] }, 'errors=true tools=bash,edit'],
  [
    ALL,
    {
      errors: false,
      denied: true,
      slower_than_ms: 500,
      waits_count: true,
      cost_over: 0.5,
      tokens_over: 9,
      tools: ['Bash', 'edit'],
      rate: 0.1,
      hold: false,
      max_bytes: 5,
    },
    'denied=true slower_than_ms=500 waits_count=true cost_over=0.5 tokens_over=9 tools=Bash,edit rate=0.1 hold=false max_bytes=5',
  ],
])('reads %s', (yaml, keep, text) => {
  const resolution = resolved({ yaml: `keep: ${yaml}` })
  expect(messages(resolution)).toEqual([])
  expect(resolution.config.keep).toEqual(keep)
  expect(shown(resolution)).toBe(text)
})

test('is off by default', () => {
  expect(resolved({}).config.keep).toBeUndefined()
  expect(shown(resolved({}))).toBe('off')
})

test.each([
  ['{rate: 5}', 'keep.rate: expected a number from 0 to 1, got "5" (config.yaml line 1); leaving it out'],
  ['{denied: maybe}', 'keep.denied: expected true or false, got "maybe" (config.yaml line 1); leaving it out'],
  ['{cost_over: -1}', 'keep.cost_over: expected a number ≥ 0, got "-1" (config.yaml line 1); leaving it out'],
  ['{tools: {a: b}}', 'keep.tools: expected a list, got a mapping (config.yaml line 1); leaving it out'],
  ['{slower: 5}', 'keep.slower: there is no such field (config.yaml line 1)'],
])('reports %s in one line, and uses the rest', (text, line) => {
  const resolution = resolved({ yaml: `keep: ${text}` })
  expect(messages(resolution)).toEqual([expect.stringContaining(`config: ${line}`)])
  expect(resolution.config.keep).toEqual(KEEP_DEFAULT)
})

test("accepts the page's example without a fault", () => {
  const page = readFileSync(new URL('../../../docs/sampling.md', import.meta.url), 'utf8')
  const yaml = /^```yaml\n(keep:[\s\S]*?)^```/m.exec(page)?.[1] ?? ''
  const resolution = resolved({ yaml })
  expect(messages(resolution)).toEqual([])
  expect(resolution.config.keep).toMatchObject({ denied: true, cost_over: 0.5, tools: ['terminal'], rate: 0.05 })
})

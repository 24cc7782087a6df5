import { expect, test } from 'vitest'
import { showConfig } from '../../../src/plugin/config/show.ts'
import { messages, resolved } from './scratch-home.ts'

const YAML = `prices:
  ollama/*: 0
  "*/mine": {input: 0.5, output: 1.50, cache_read: 0.05, cache_write_1h: 2}
  openai/*: {service_tiers: {Batch: 0.5, priority: 2}}
`

test('reads models in their order, each with its rates, or those of the list', () => {
  const resolution = resolved({ yaml: YAML })
  expect(messages(resolution)).toEqual([])
  const free = { input: 0, output: 0, cache_read: undefined, cache_write: undefined, cache_write_1h: undefined }
  expect(resolution.config.prices?.own.map(price => ({ ...price, service_tiers: { ...price.service_tiers } }))).toEqual(
    [
      { model: 'ollama/*', rates: free, service_tiers: {} },
      {
        model: '*/mine',
        rates: { input: 0.5, output: 1.5, cache_read: 0.05, cache_write: undefined, cache_write_1h: 2 },
        service_tiers: {},
      },
      { model: 'openai/*', rates: undefined, service_tiers: { batch: 0.5, priority: 2 } },
    ],
  )
  expect(showConfig(resolution).find(({ key }) => key === 'prices')?.value).toBe('3 of your own, then the list')
})

test('is off by default', () => {
  expect(resolved({}).config.prices).toBeUndefined()
  expect(showConfig(resolved({})).find(({ key }) => key === 'prices')?.value).toBe('off')
})

test.each([
  ['{mine: 5}', 'prices.mine: expected 0 or a mapping of rates, got "5" (config.yaml line 1); leaving it out'],
  ['{mine: {input: 1}}', 'prices.mine: a price needs both input and output (config.yaml line 1); leaving it out'],
  ['{mine: {cache_read: 1}}', 'prices.mine: a price needs both input and output (config.yaml line 1); leaving it out'],
  [
    '{mine: {input: 1, output: -1}}',
    'prices.mine.output: expected a number ≥ 0, got "-1" (config.yaml line 1); leaving it out',
    'prices.mine: a price needs both input and output (config.yaml line 1); leaving it out',
  ],
])('rejects %s in lines, and uses nothing of it', (text, ...lines) => {
  const resolution = resolved({ yaml: `prices: ${text}` })
  expect(messages(resolution)).toEqual(lines.map(line => `config: ${line}`))
  expect(resolution.config.prices).toEqual({ own: [] })
})

test.each([
  ['{mine: {input: 1, output: 2, cached: 1}}', 'prices.mine.cached: there is no such field (config.yaml line 1)'],
  [
    '{mine: {input: 1, output: 2, service_tiers: {batch: cheap}}}',
    'prices.mine.service_tiers.batch: expected a number ≥ 0, got "cheap" (config.yaml line 1); leaving it out',
  ],
  [
    '{mine: {input: 1, output: 2, service_tiers: batch}}',
    'prices.mine.service_tiers: expected a mapping of tiers to numbers, got "batch" (config.yaml line 1); leaving it out',
  ],
])('reports %s in one line, and uses the rest', (text, line) => {
  const resolution = resolved({ yaml: `prices: ${text}` })
  expect(messages(resolution)).toEqual([expect.stringContaining(`config: ${line}`)])
  expect(resolution.config.prices?.own).toMatchObject([{ model: 'mine', rates: { input: 1, output: 2 } }])
})

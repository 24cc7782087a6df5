import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KEY_NAMES } from '../../../src/plugin/config/keys.ts'
import { messages, resolved } from './scratch-home.ts'

async function generated(): Promise<string> {
  const url = new URL('../../../scripts/configuration-doc.mjs', import.meta.url).href
  const { configurationDoc } = (await import(url)) as { configurationDoc: () => string }
  return configurationDoc()
}

const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')

test('is the content of the tables', async () => {
  expect(page).toBe(await generated())
})

test('has a row for every key', () => {
  expect(KEY_NAMES.filter(key => !page.includes(`\n| \`${key}\` | `))).toEqual([])
})

test('has a valid configuration as its example', () => {
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  const resolution = resolved({ yaml, env: { COLLECTOR_TOKEN: 'x' } })
  expect(messages(resolution)).toEqual([])
  expect(resolution.config.backends.map(backend => backend.name)).toEqual(['phoenix', 'otlp'])
})

import { expect, test } from 'vitest'
import { runExample } from '../example.ts'
import { PARIS } from '../sdk-program.ts'

test('traces the program of examples/ai-sdk', async () => {
  const names = ['agent', 'api.fake-1', 'api.fake-1', 'llm.fake-1', 'tool.get_weather']
  expect(await runExample('ai-sdk', PARIS)).toEqual(names)
})

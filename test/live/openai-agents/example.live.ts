import { expect, test } from 'vitest'
import { runExample } from '../example.ts'
import { PARIS } from '../sdk-program.ts'

test('traces the program of examples/openai-agents', async () => {
  const names = ['agent', 'api.fake-1', 'api.fake-1', 'llm.fake-1', 'tool.get_weather']
  expect(await runExample('openai-agents', PARIS)).toEqual(names)
})

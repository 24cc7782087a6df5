import { expect, test } from 'vitest'
import { runExample } from '../example.ts'

test('traces the program of examples/claude-agent-sdk, whose guard blocks a command', async () => {
  const names = await runExample('claude-agent-sdk', {
    name: 'Bash',
    arguments: { command: 'rm notes.txt', description: 'Deletes the file' },
  })
  const kinds = names.map(name => name.replace(/^(api|llm)\..*/, '$1'))
  expect(kinds).toEqual(['agent', 'api', 'api', 'hook.no-rm', 'llm', 'tool.Bash'])
})

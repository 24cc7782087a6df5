import { expect, test } from 'vitest'
import { importCommand } from '../../src/cli/commands/import.ts'
import { mkdtempSync } from 'node:fs'
import { fakeIo } from './fake-io.ts'
test('x', async () => {
  const io = fakeIo({ home: mkdtempSync('/tmp/imp-') })
  const code = await importCommand.run(['test/fixtures/atof/hermes-relay.jsonl'], io)
  console.log(code, io.written.stdout, io.written.stderr)
})

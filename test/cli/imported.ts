import { Readable } from 'node:stream'
import { type ImportFormat, ImportReader } from '../../src/cli/import/import-reader.ts'
import type { TestPlugin } from '../../src/testing.ts'

/** Tells a plugin what a file says, and says which lines said nothing. */
export async function imported(
  text: string,
  plugin: TestPlugin,
  { format, mostBytes }: { readonly format?: ImportFormat; readonly mostBytes?: number } = {},
): Promise<{ readonly problems: readonly string[] }> {
  const problems: string[] = []
  for await (const entry of new ImportReader(format, mostBytes).read(
    Readable.from([Buffer.from(text)]),
    () => undefined,
  )) {
    if ('problem' in entry) problems.push(`line ${entry.line}: ${entry.problem}`)
    else plugin.emitUntyped(entry.record.hook, entry.record.payload, entry.record.meta)
  }
  return { problems }
}

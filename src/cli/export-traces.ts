import { stat, writeFile } from 'node:fs/promises'
import { exportHtml } from '../viewer/export-html.ts'
import { exportOtlp } from '../viewer/export-otlp.ts'
import { countOf, humanBytes } from '../viewer/human-figures.ts'
import { sharedContent, sharedContentLines } from '../viewer/shared-content.ts'
import type { TraceTree } from '../viewer/trace-forest.ts'
import type { CommandIo } from './command.ts'
import { whyNot } from './file-trouble.ts'

export interface ExportFiles {
  /** A page for people. */
  readonly html: string | undefined
  /** OTLP/JSON lines for programs. */
  readonly otlp: string | undefined
}

/**
 * Writes traces into files of one's own, and says what is in them: who shares one should know.
 *
 * @param paths the files that the traces were read from
 * @throws when a file is there already, or cannot be written
 */
export async function exportTraces(
  trees: readonly TraceTree[],
  paths: readonly string[],
  { html, otlp }: ExportFiles,
  io: CommandIo,
): Promise<void> {
  const traces = countOf(trees.length, 'trace')
  if (html !== undefined) {
    const bytes = await writeNew(html, exportHtml(trees, io.now()))
    io.stdout.write(`Wrote ${traces} as a page to ${html} (${humanBytes(bytes)})\n`)
  }
  if (otlp !== undefined) {
    const bytes = await writeNew(otlp, linesOf(trees, paths))
    io.stdout.write(`Wrote ${traces} as OTLP/JSON lines to ${otlp} (${humanBytes(bytes)})\n`)
    const running = trees.filter(tree => tree.isRunning).length
    if (running > 0) io.stdout.write(`What is running in ${countOf(running, 'trace')} is not in it\n`)
  }
  io.stdout.write('Before you share it, this is what is in it:\n')
  for (const line of sharedContentLines(sharedContent(trees))) io.stdout.write(`  ${line}\n`)
}

async function* linesOf(trees: readonly TraceTree[], paths: readonly string[]): AsyncGenerator<string, void> {
  const traceIds = new Set(trees.map(({ traceId }) => traceId))
  for await (const line of exportOtlp(paths, traceIds)) yield `${line}\n`
}

/** Private, and never over a file that is there: it may be the log that the traces come from. Resolves to the bytes. */
async function writeNew(path: string, pieces: Iterable<string> | AsyncIterable<string>): Promise<number> {
  try {
    await writeFile(path, pieces, { flag: 'wx', mode: 0o600 })
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw new Error(`cannot write ${path}: ${whyNot(error)}`)
    throw new Error(`${path} is there already; name another file, or remove it`)
  }
}

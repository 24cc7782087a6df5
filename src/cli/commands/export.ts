import { rm, stat, writeFile } from 'node:fs/promises'
import { exportAtif } from '../../reading/export-atif.ts'
import { exportAtof } from '../../reading/export-atof.ts'
import { exportCsv } from '../../reading/export-csv.ts'
import { exportHtml } from '../../reading/export-html.ts'
import { exportMessages } from '../../reading/export-messages.ts'
import { exportOtlp } from '../../reading/export-otlp.ts'
import { countOf, humanBytes } from '../../reading/human-figures.ts'
import { sharedContent, sharedContentLines } from '../../reading/shared-content.ts'
import { jsonLine } from '../../reading/tree-json.ts'
import { type Command, type CommandIo, command, EXIT, WrongUse, whyNot } from '../command.ts'
import type { FoundTraces } from '../traces.ts'
import { FILTER_OPTIONS, findSubject, findTrace, findTraces, nothingFound, readFilter, readLast } from '../traces.ts'

type TextChunks = Iterable<string> | AsyncIterable<string>

interface FormatRow {
  readonly about: string
  readonly as: string
  pieces(found: FoundTraces, now: number): TextChunks
}

export type Format = 'html' | 'otlp' | 'atif' | 'atof' | 'messages' | 'csv'

const FORMATS: Readonly<Record<Format, FormatRow>> = {
  html: { about: 'an HTML page without scripts', as: 'as a page', pieces: ({ trees }, now) => exportHtml(trees, now) },
  otlp: {
    about: 'OTLP/JSON lines as recorded, for any OpenTelemetry tool',
    as: 'as OTLP/JSON lines',
    pieces: ({ trees, paths }) => lines(exportOtlp(paths, new Set(trees.map(({ traceId }) => traceId)))),
  },
  atif: {
    about: 'trajectories (ATIF 1.7), for evaluation: a document for each session',
    as: 'as trajectories (ATIF)',
    pieces: ({ trees }) => documents(exportAtif(trees)),
  },
  atof: {
    about: 'events (ATOF 0.1), the format of NeMo Relay',
    as: 'as events (ATOF)',
    pieces: ({ trees }) => lines(exportAtof(trees)),
  },
  messages: {
    about: 'conversations as OpenAI messages, one session a line',
    as: 'as messages',
    pieces: ({ trees }) => lines(exportMessages(trees)),
  },
  csv: {
    about: 'a row for each span, without content',
    as: 'as a table',
    pieces: ({ trees }) => lines(exportCsv(trees), '\r\n'),
  },
}

/**
 * Writes traces to a file and reports its contents, so that the user knows what it shares.
 *
 * @param out undefined for standard output; the report goes to standard error then
 * @throws if the file exists or cannot be written
 */
export async function writeExport(
  found: FoundTraces,
  format: Format,
  out: string | undefined,
  io: CommandIo,
): Promise<void> {
  const { as, pieces } = FORMATS[format]
  if (out === undefined) {
    writeContentSummary(found, format, io.stderr)
    for await (const piece of pieces(found, io.now())) io.stdout.write(piece)
    return
  }
  const bytes = await writeNew(out, pieces(found, io.now()))
  io.stdout.write(`Wrote ${countOf(found.trees.length, 'trace')} ${as} to ${out} (${humanBytes(bytes)})\n`)
  writeContentSummary(found, format, io.stdout)
}

function writeContentSummary({ trees, matchCount }: FoundTraces, format: Format, told: CommandIo['stdout']): void {
  const older = matchCount - trees.length
  // Without this line the file would be used for evaluation or training as if it were complete.
  const verb = older === 1 ? 'is' : 'are'
  if (older > 0) told.write(`${countOf(older, 'older one')} ${verb} left out; raise the limit with -n\n`)
  const running = trees.filter(tree => tree.isRunning).length
  if (running > 0 && format === 'otlp') told.write(`Running spans of ${countOf(running, 'trace')} are left out\n`)
  told.write('Before you share it, check what it contains:\n')
  for (const line of sharedContentLines(sharedContent(trees))) told.write(`  ${line}\n`)
}

async function* lines(texts: TextChunks, end = '\n'): AsyncGenerator<string, void> {
  for await (const text of texts) yield `${text}${end}`
}

function* documents(all: readonly object[]): Generator<string, void> {
  const [only, second] = all
  if (second === undefined) yield `${jsonLine(only, 2)}\n`
  else for (const each of all) yield `${jsonLine(each)}\n`
}

/** Creates a private file and never overwrites one: it could be the log that the traces come from. Resolves to its bytes. */
async function writeNew(path: string, pieces: TextChunks): Promise<number> {
  try {
    await writeFile(path, pieces, { flag: 'wx', mode: 0o600 })
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new Error(`${path} exists already; choose another file, or remove it`)
    }
    // A partial file would be taken for a complete one, and would block the next attempt.
    await rm(path, { force: true }).catch(() => undefined)
    throw new Error(`cannot write ${path}: ${whyNot(error)}`)
  }
}

/** A file with more traces is too large to open. */
const MOST = 1000

const exportCommand: Command = command({
  name: 'export',
  operand: { placeholder: '[FILE] [TRACE_ID]', offers: 'files' },
  about: `Writes stored traces to a new file: those of the local trace log, or of FILE (OTLP/JSON lines, or a directory of *.jsonl);
with TRACE_ID only that trace. Prints what was masked and shortened in it before you share it.

${Object.entries(FORMATS)
  .map(([format, { about }]) => `  ${format.padEnd(9)} ${about}`)
  .join('\n')}

content_capture at the time of recording decides how much content it contains.`,
  options: {
    format: { short: 'F', value: 'FORMAT', aka: ['as', 'type'], help: `one of ${Object.keys(FORMATS).join(', ')}` },
    out: {
      short: 'o',
      value: 'FILE',
      aka: ['output', 'file'],
      offers: 'files',
      help: 'the file to write, which is not to be there; without it the standard output',
    },
    ...FILTER_OPTIONS,
    last: { short: 'n', value: 'N', aka: ['limit', 'tail'], help: `the last N of them (default ${MOST})` },
  },
  closing: 'Exits with 1 when nothing was written.',
  async run({ values, operands }, io) {
    const format = formatOf(values.format)
    const last = readLast(values.last) ?? MOST
    const filter = readFilter(values, io.now())
    const { place, traceId } = await findSubject(operands, io)
    const query = { ...filter, last }
    const isAll = traceId === undefined
    const found = await (isAll ? findTraces(place, query, io) : findTrace(place, { ...filter, traceId }, io))
    if (found.trees.length === 0) throw new Error(nothingFound(place, query, found))
    await writeExport(found, format, values.out, io)
    return EXIT.ok
  },
})

export { exportCommand as export }

function formatOf(text: string | undefined): Format {
  const known = Object.keys(FORMATS).join(', ')
  if (text === undefined) throw new WrongUse(`--format is required: ${known}`)
  if (Object.hasOwn(FORMATS, text)) return text as Format
  throw new WrongUse(`--format takes ${known}; got ${JSON.stringify(text.slice(0, 60))}`)
}

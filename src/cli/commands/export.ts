import { type Command, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { FORMATS, type Format, isFormat, writeExport } from '../export-traces.ts'
import { FILTER_OPTIONS, findTrace, findTraces, readFilter, readLast } from '../trace-query.ts'
import { nothingMatches, nothingThere } from '../tree-messages.ts'
import { expectTraceFiles, findSubject } from '../tree-place.ts'

/** A file with more traces is too large to open. */
const MOST = 1000

const PAGE = {
  name: 'export',
  operand: { placeholder: '[FILE] [TRACE_ID]', offers: 'files' },
  about: `Writes stored traces into one new file: those of the local trace log, or of FILE (OTLP/JSON lines, or a directory of
*.jsonl); with TRACE_ID that one. Before anything leaves, what was masked and cut in it is said.

${Object.entries(FORMATS)
  .map(([format, { about }]) => `  ${format.padEnd(9)} ${about}`)
  .join('\n')}

How much of what was said is in it, content_capture has decided when it was recorded.`,
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
} as const satisfies CommandPage

export const exportCommand: Command = command(PAGE, async ({ values, operands }, io) => {
  const format = formatOf(values.format)
  const last = readLast(values.last) ?? MOST
  const filter = readFilter(values, io.now())
  const { place, traceId } = await findSubject(operands, io)
  const query = { ...filter, last }
  const found = await (traceId === undefined
    ? findTraces(place, query, io)
    : findTrace(place, { ...filter, traceId }, io))
  if ('exitCode' in found) return found.exitCode
  if (found.traceCount === 0) await expectTraceFiles(place, found.unreadableCount)
  if (found.trees.length === 0) {
    throw new Error(found.traceCount === 0 ? nothingThere(place) : nothingMatches(place, query, found))
  }
  await writeExport(found, format, values.out, io)
  return EXIT.ok
})

function formatOf(text: string | undefined): Format {
  if (text !== undefined && isFormat(text)) return text
  const known = Object.keys(FORMATS).join(', ')
  throw new WrongUse(
    text === undefined
      ? `--format says as what: ${known}`
      : `--format takes ${known}; got ${JSON.stringify(text.slice(0, 60))}`,
  )
}

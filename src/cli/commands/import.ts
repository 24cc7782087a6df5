import { BACKEND_OPTION, checkBackends } from '../backend-option.ts'
import { type Command, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { type ImportFormat, ImportReader } from '../import/import-reader.ts'
import { playAndDraw } from '../play-files.ts'

const FORMATS = ['atof', 'atif'] as const

const PAGE = {
  name: 'import',
  operand: { placeholder: 'FILE…', offers: 'files' },
  about: `Takes what others have recorded into the local trace log, as traces, and draws them: events of NeMo Relay (ATOF, JSON
lines), and trajectories (ATIF 1.0 to 1.8, a document or one on each line); - reads standard input. Masks and content_capture hold as for an agent. The
same file gives the same traces each time. A malformed line is reported and skipped.`,
  options: {
    format: {
      short: 'F',
      value: 'FORMAT',
      aka: ['as', 'type'],
      help: `${FORMATS.join(' or ')}; without it the file says it`,
    },
    backend: BACKEND_OPTION,
  },
  closing: 'Exits with 1 when a line was malformed, a file could not be read, or a backend did not get everything.',
} as const satisfies CommandPage

export const importCommand: Command = command(PAGE, async ({ values, operands: files }, io) => {
  if (files.length === 0) throw new WrongUse('expected a FILE of events or trajectories, or - for standard input')
  const format = formatOf(values.format)
  checkBackends(values.backend)
  const playing = { command: 'import', files, speed: undefined, reader: () => new ImportReader(format) }
  const { exitCode, isGood } = await playAndDraw(playing, { backend: values.backend }, io)
  return exitCode ?? (isGood ? EXIT.ok : EXIT.failed)
})

function formatOf(text: string | undefined): ImportFormat | undefined {
  if (text === undefined) return undefined
  const format = FORMATS.find(each => each === text)
  if (format !== undefined) return format
  throw new WrongUse(`--format takes ${FORMATS.join(' or ')}; got ${JSON.stringify(text.slice(0, 60))}`)
}

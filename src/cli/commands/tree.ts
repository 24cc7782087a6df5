import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { stateDirectory } from '../../config/paths.ts'
import { TraceFollower } from '../../viewer/trace-follower.ts'
import type { TraceTree } from '../../viewer/trace-forest.ts'
import { listSegments, selectTraces, type TraceQuery, type TraceSelection } from '../../viewer/trace-log.ts'
import { treeJson } from '../../viewer/tree-json.ts'
import { renderTotals, renderTree } from '../../viewer/tree-text.ts'
import { type Command, type CommandIo, type CommandPage, EXIT, runCommand, WrongUse } from '../command.ts'
import { readWatched } from '../log-reading.ts'
import { lookOf } from '../look.ts'
import type { Given } from '../options.ts'

const POLL_MILLIS = 500

const PAGE = {
  name: 'tree',
  summary: 'draw stored traces as trees',
  operand: { placeholder: '[FILE]', offers: 'files' },
  about: `Draws stored traces as trees: those of the local trace log, or of FILE (OTLP/JSON lines, or a directory of
*.jsonl).`,
  options: {
    session: { value: 'S', help: 'only traces in which session S took part' },
    last: {
      short: 'n',
      value: 'N',
      default: '5',
      aka: ['limit', 'lines', 'tail'],
      help: 'the last N traces, the newest at the bottom',
    },
    follow: {
      short: 'f',
      aka: ['watch'],
      help: 'keep watching, and draw each trace when its root span has ended; if something is still running in it, once more when all of it has',
    },
    json: { help: 'one JSON object a line and trace, spans in the order of the tree' },
  },
  closing: 'Exits with 1 when FILE cannot be read.',
} as const satisfies CommandPage

export const tree: Command = { ...PAGE, run }

/** Resolves to the exit code: 0 also when there is nothing to show, 1 when FILE cannot be read, 2 for wrong use. */
export function run(args: string[], io: CommandIo): Promise<number> {
  return runCommand(PAGE, args, io, async given => {
    const options = readOptions(given)
    const place = await findPlace(options.file, io)
    return options.follow ? follow(place, options, io) : show(place, options, io)
  })
}

interface TreeOptions {
  readonly file: string | undefined
  readonly query: TraceQuery
  readonly follow: boolean
  readonly json: boolean
}

function readOptions({ values, operands }: Given<typeof PAGE.options>): TreeOptions {
  if (operands.length > 1) throw new WrongUse(`expected one FILE at most, got ${operands.length}`)
  if (!/^\d{1,9}$/.test(values.last)) {
    throw new WrongUse(`--last takes a whole number, got ${JSON.stringify(values.last)}`)
  }
  const query = { last: Number(values.last), ...(values.session !== undefined && { sessionId: values.session }) }
  return { file: operands[0], query, follow: values.follow, json: values.json }
}

/** Where the traces are, and how to list the files there: a log gets new segments while we follow it. */
interface Place {
  readonly path: string
  readonly isLocalLog: boolean
  listFiles(): Promise<readonly string[]>
}

async function findPlace(file: string | undefined, io: CommandIo): Promise<Place> {
  if (file === undefined) {
    const path = join(stateDirectory(io.env, io.home), 'traces')
    return { path, isLocalLog: true, listFiles: () => listSegments(path) }
  }
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    const message = error.code === 'ENOENT' ? `there is no file ${file}` : `cannot read ${file}: ${error.code}`
    throw new Error(message, { cause: error })
  })
  if (found.isDirectory()) return { path: file, isLocalLog: false, listFiles: () => listSegments(file) }
  // It is read twice, which a pipe does not survive.
  if (!found.isFile()) throw new Error(`${file} is not a regular file`)
  return { path: file, isLocalLog: false, listFiles: async () => [file] }
}

async function show(place: Place, { query, json }: TreeOptions, io: CommandIo): Promise<number> {
  const files = await place.listFiles()
  const selection = await readWatched(files, onRead => selectTraces(files, query, onRead), io)
  if ('exitCode' in selection) return selection.exitCode
  const { trees, firstUnreadable, unreadableCount } = selection
  for (const each of trees) io.stdout.write(`${draw(each, json, io)}\n`)
  if (trees.length > 1 && !json) io.stdout.write(`${renderTotals(trees, lookOf(io))}\n`)
  // A program that reads the JSON must not find a sentence in it.
  if (trees.length === 0) (json ? io.stderr : io.stdout).write(`${nothingFound(place, query, selection)}\n`)
  if (firstUnreadable !== undefined) {
    const { path, line, problem } = firstUnreadable
    const count = unreadableCount === 1 ? '1 line was' : `${unreadableCount} lines were`
    io.stderr.write(`hookspan tree: ${count} left out; the first is line ${line} of ${path}: ${problem}\n`)
  }
  return EXIT.ok
}

async function follow(place: Place, { query, json }: TreeOptions, io: CommandIo): Promise<number> {
  const follower = new TraceFollower(place.listFiles, query)
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  for (let isFirst = true; !isStopped; isFirst = false) {
    const trees = await follower.poll()
    for (const each of trees) io.stdout.write(`${draw(each, json, io)}\n`)
    if (isFirst && trees.length === 0) io.stderr.write(`Waiting for traces in ${place.path} (Ctrl-C ends this).\n`)
    await pause(interrupted)
  }
  return EXIT.ok
}

/** Whatever comes first; the timer goes, too, so that nothing holds the process afterwards. */
async function pause(interrupted: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, POLL_MILLIS)
  })
  await Promise.race([timeout, interrupted])
  clearTimeout(timer)
}

function draw(trace: TraceTree, json: boolean, io: CommandIo): string {
  return json ? treeJson(trace) : `${renderTree(trace, lookOf(io))}\n`
}

function nothingFound(place: Place, query: TraceQuery, { traceCount }: TraceSelection): string {
  if (query.sessionId !== undefined && traceCount > 0) {
    return `No trace of session ${JSON.stringify(query.sessionId)} among the ${traceCount} in ${place.path}; without --session the newest are shown.`
  }
  if (traceCount > 0) return `${place.path} holds ${traceCount} traces, and --last ${query.last} asks for none of them.`
  if (!place.isLocalLog) return `There are no traces in ${place.path}: expected OTLP/JSON, one request a line.`
  return `There are no traces in ${place.path} yet. Run "hookspan demo" to record some, or name a file: hookspan tree FILE`
}

import { dirname } from 'node:path'
import { humanCount } from '../../reading/human-figures.ts'
import { renderOpenTurns } from '../../reading/open-turns-text.ts'
import { renderSummary } from '../../reading/summary-text.ts'
import { renderDetails } from '../../reading/trace-details.ts'
import type { TraceFilter } from '../../reading/trace-filter.ts'
import { TraceFollower } from '../../reading/trace-follower.ts'
import type { TraceTree } from '../../reading/trace-forest.ts'
import type { TraceQuery, TraceSelection } from '../../reading/trace-log.ts'
import { treeJson } from '../../reading/tree-json.ts'
import { renderTotals, renderTree } from '../../reading/tree-text.ts'
import { type Command, type CommandIo, command, EXIT, WrongUse } from '../command.ts'
import { leftBehind, ownedSegments } from '../open-traces.ts'
import { isRedrawable, lookOf, StatusArea, statusRows, waitForPoll } from '../terminal.ts'
import {
  FILTER_OPTIONS,
  findSubject,
  findTrace,
  findTraces,
  nothingFound,
  readFilter,
  readLast,
  readWatched,
  spanPricer,
  type TracesPlace,
} from '../traces.ts'

const DEFAULT_LAST = 5
const MAX_RUNNING_LINES = 20

export const tree: Command = command({
  name: 'tree',
  operand: { placeholder: '[FILE] [TRACE_ID]', offers: 'files' },
  about: `Prints stored traces as trees: those of the local trace log, or of FILE (OTLP/JSON lines, or a directory of
*.jsonl). Running spans are marked, with their duration and the time since the last activity.

With TRACE_ID or a unique prefix of it (each tree shows eight digits), prints the question, answer, cost and critical path
of one trace, its tree, and all attributes, events and links of each span. Very long values are shortened; --json prints
them in full. An argument that names a file or directory is FILE; other hexadecimal digits are TRACE_ID.`,
  options: {
    ...FILTER_OPTIONS,
    last: {
      short: 'n',
      value: 'N',
      aka: ['limit', 'lines', 'tail'],
      help: `only the last N, the newest at the bottom (default ${DEFAULT_LAST})`,
    },
    follow: {
      short: 'f',
      aka: ['watch'],
      help: `keep watching, and print each trace when its root span has ended, and again when spans that outlived it have ended. On a
        terminal, running turns are shown below`,
    },
    json: { help: 'one JSON object per trace and line, spans in tree order' },
  },
  closing: `All conditions must match. Exits with 1 if FILE is not a trace log, or TRACE_ID does not match exactly one trace.`,
  async run({ values, operands }, io) {
    const options = { filter: readFilter(values, io.now()), last: readLast(values.last), json: values.json }
    const { place, traceId } = await findSubject(operands, io)
    if (traceId === undefined && !values.follow) return show(place, options, io)
    if (traceId === undefined) {
      const drawn = { draw: (each: TraceTree) => draw(each, options, io), showsRunning: !options.json }
      return followTraces(place, { ...drawn, query: queryOf(options) }, io)
    }
    if (values.follow) throw new WrongUse('--follow and TRACE_ID do not go together')
    return showOne(place, traceId, options, io)
  },
})

interface TreeOptions {
  readonly filter: TraceFilter
  readonly last: number | undefined
  readonly json: boolean
}

async function show(place: TracesPlace, options: TreeOptions, io: CommandIo): Promise<number> {
  const query = queryOf(options)
  const selection = await findTraces(place, query, io)
  const { trees } = selection
  for (const each of trees) io.stdout.write(`${draw(each, options, io)}\n`)
  if (!options.json && trees.length > 0) io.stdout.write(footer(selection, options, io))
  // Keep the message out of the JSON output.
  const out = options.json ? io.stderr : io.stdout
  if (trees.length === 0) out.write(`${nothingFound(place, query, selection)}\n`)
  warnAboutUnreadable(selection, io)
  return EXIT.ok
}

async function showOne(place: TracesPlace, traceId: string, options: TreeOptions, io: CommandIo): Promise<number> {
  const { filter, json } = options
  const found = await findTrace(place, { ...filter, traceId }, io)
  const look = { ...lookOf(io), now: io.now() }
  const summary = json ? '' : renderSummary(found.tree, look).replace(/.$/, '$&\n\n')
  // The details fill many screens: on a terminal only their end is visible.
  const isLast = io.stdout.isTTY
  io.stdout.write(`${isLast ? '' : summary}${draw(found.tree, { json }, io)}\n`)
  if (json) return EXIT.ok
  for (const details of renderDetails(found.tree, look)) io.stdout.write(`${details}\n\n`)
  if (isLast) io.stdout.write(summary)
  warnAboutUnreadable(found, io)
  return EXIT.ok
}

function queryOf({ filter, last }: TreeOptions): TraceQuery {
  return { ...filter, last: last ?? DEFAULT_LAST }
}

function draw(trace: TraceTree, { json }: Pick<TreeOptions, 'json'>, io: CommandIo): string {
  return json ? treeJson(trace) : `${renderTree(trace, { ...lookOf(io), now: io.now() })}\n`
}

function footer({ trees, matchCount, running }: TraceSelection, { last }: TreeOptions, io: CommandIo): string {
  const look = { ...lookOf(io), now: io.now() }
  const parts = trees.length > 1 ? [`${renderTotals(trees, look)}\n`] : []
  if (last === undefined && matchCount > trees.length) {
    parts.push(`  the last ${trees.length} of ${humanCount(matchCount)}; show more with -n N\n`)
  }
  if (running.length > 0) {
    const lines = renderOpenTurns(running, { ...look, maxLines: MAX_RUNNING_LINES })
    parts.push(`${parts.length > 0 ? '\n' : ''}  older, and still running:\n\n`, ...lines.map(line => `${line}\n`))
  }
  return parts.join('')
}

function warnAboutUnreadable({ firstUnreadable, unreadableCount }: TraceSelection, io: CommandIo): void {
  if (firstUnreadable === undefined) return
  const { path, line, problem } = firstUnreadable
  const count = unreadableCount === 1 ? '1 line was' : `${humanCount(unreadableCount)} lines were`
  io.stderr.write(`hookspan tree: ${count} left out; the first is line ${line} of ${path}: ${problem}\n`)
}

/** Longer would be a list instead of a status. */
const MAX_LINES = 8

export interface FollowOptions {
  readonly query: TraceQuery
  draw(tree: TraceTree): string
  readonly showsRunning: boolean
  readonly pause?: (interrupted: Promise<void>) => Promise<void>
}

export async function followTraces(place: TracesPlace, options: FollowOptions, io: CommandIo): Promise<number> {
  const { query, draw, showsRunning, pause = waitForPoll } = options
  const follower = new TraceFollower(place.listFiles, query, spanPricer(io))
  const area = showsRunning && isRedrawable(io) ? new StatusArea(io.stdout) : undefined
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  for (let isFirst = true; !isStopped; isFirst = false) {
    const trees = isFirst
      ? await readWatched(await place.listFiles(), onRead => follower.poll(onRead), io)
      : await follower.poll()
    if (trees.length > 0) area?.clear()
    for (const each of trees) io.stdout.write(`${draw(each)}\n`)
    const lines = area === undefined ? [] : await openLines(follower, place, io)
    if (isFirst && trees.length === 0 && lines.length === 0) {
      io.stderr.write(`Waiting for traces in ${place.path} (Ctrl-C ends this).\n`)
    }
    area?.show(lines)
    await pause(interrupted)
  }
  area?.clear()
  return EXIT.ok
}

async function openLines(follower: TraceFollower, { kind, path }: TracesPlace, io: CommandIo): Promise<string[]> {
  const { width, color } = lookOf(io)
  const now = io.now()
  const maxLines = Math.min(MAX_LINES, statusRows(io))
  const open = follower.runningTraces()
  const trees = open.map(({ tree }) => tree)
  // For other files, the owning process is unknown.
  const left = kind === 'local log' ? leftBehind(open, await ownedSegments(dirname(path), now)) : undefined
  return renderOpenTurns(trees, { width: width - 1, color, now, maxLines }, tree => left?.has(tree) === true)
}

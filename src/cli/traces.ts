import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { peek } from '../contract/foreign.ts'
import { stateDirectory } from '../plugin/config/paths.ts'
import type { PricesConfig } from '../plugin/config/prices.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import { createSpanPricer } from '../plugin/prices/span-prices.ts'
import { dropUndefined, parseJson } from '../reading/attribute-value.ts'
import { displayText } from '../reading/display-text.ts'
import { countOf, humanBytes, humanCount, humanInstant } from '../reading/human-figures.ts'
import type { SpanPricer } from '../reading/stored-span.ts'
import type { TraceFilter } from '../reading/trace-filter.ts'
import type { TraceTree } from '../reading/trace-forest.ts'
import { listSegments, selectTraces, type TraceQuery, type TraceSelection } from '../reading/trace-log.ts'
import { summarize } from '../reading/trace-summary.ts'
import type { IndexSubject } from '../viewer/trace-index/local-index.ts'
import { type CommandArguments, type CommandIo, Interrupted, WrongUse } from './command.ts'
import { sinceAt } from './option-values.ts'
import { Interruption, Progress } from './terminal.ts'

/** Prices of requests without a recorded cost: the user's, else the bundled list. `prices: false` disables them. */
function readPrices({ env, home }: CommandIo): PricesConfig | undefined {
  const { config, sources } = resolveConfig({ env, home })
  return sources.get('prices')?.from === 'default' ? { own: [] } : config.prices
}

/** Prices requests as the viewer does. Reads the configuration and the list only for a request without a cost. */
export function spanPricer(io: CommandIo): SpanPricer {
  return createSpanPricer(() => readPrices(io))
}

export async function bytesOf(files: readonly string[]): Promise<number | undefined> {
  let sum = 0
  for (const file of files) {
    const found = file === '-' ? undefined : await stat(file).catch(() => undefined)
    if (found?.isFile() !== true) return undefined
    sum += found.size
  }
  return sum
}

/**
 * Reads large files with a progress line. Ctrl-C ends it and discards the partial result.
 *
 * @param read receives a callback for the number of bytes read
 * @throws Interrupted, or the error of `read`
 */
export async function readWatched<Result>(
  files: readonly string[],
  read: (onRead: (bytes: number) => void) => Promise<Result>,
  io: CommandIo,
): Promise<Result> {
  const total = (await bytesOf(files)) ?? 0
  const progress = new Progress(io, total)
  const interruption = new Interruption(io)
  let done = 0
  const onRead = (bytes: number): void => {
    if (interruption.exitCode !== undefined) {
      progress.end()
      io.stderr.write(`Interrupted at ${progress.share}; nothing is printed\n`)
      throw new Interrupted(interruption.exitCode)
    }
    done += bytes
    // The second pass reads only the selected traces and is much faster.
    if (done > total && done - bytes <= total) progress.showStep('reading the selected traces …')
    if (done <= total) progress.update(done, () => `reading ${humanBytes(total)}`)
  }
  try {
    return await read(onRead)
  } finally {
    progress.end()
  }
}

/** The location of traces. Files are listed on demand, because a log gets new segments while it is followed. */
export interface TracesPlace {
  readonly path: string
  readonly kind: 'local log' | 'directory' | 'file'
  listFiles(): Promise<readonly string[]>
}

/** An existing path is FILE, another possible prefix of an id TRACE_ID. @throws {WrongUse} for two of a kind */
export async function findSubject(
  names: readonly string[],
  io: CommandIo,
): Promise<{ readonly place: TracesPlace; readonly traceId: string | undefined }> {
  const files: TracesPlace[] = []
  const traceIds: string[] = []
  for (const name of names) {
    const place = await placeAt(name)
    if (place === undefined && !canBeTraceId(name)) throw new Error(`there is no file ${name}${sessionHint(name)}`)
    const trouble = place?.kind === 'file' ? await noTraceFile(name) : undefined
    if (trouble?.isCertain) throw new Error(`${name} is not a trace log: ${trouble.problem}`)
    if (place === undefined) traceIds.push(name)
    else files.push(place)
  }
  if (files.length > 1) throw new WrongUse(`expected one FILE at most, got ${files.length}`)
  if (traceIds.length > 1) throw new WrongUse(`expected one TRACE_ID at most, got ${traceIds.length}`)
  return { place: files[0] ?? localLog(io), traceId: traceIds[0] }
}

export function localLog(io: CommandIo): TracesPlace {
  const path = join(stateDirectory(io.env, io.home), 'traces')
  return { path, kind: 'local log', listFiles: () => listSegments(path) }
}

function canBeTraceId(name: string): boolean {
  return /^[0-9a-f]{1,32}$/i.test(name)
}

export async function namesTrace(name: string): Promise<boolean> {
  return canBeTraceId(name) && (await placeAt(name)) === undefined
}

/** @throws {Error} for a command that reads files only, if the user gave it the id of a trace or session */
export async function findFile(names: readonly string[], io: CommandIo): Promise<TracesPlace> {
  const { place, traceId } = await findSubject(names, io)
  if (traceId === undefined) return place
  throw new Error(`there is no file ${traceId}; for a trace: hookspan tree ${traceId}${sessionHint(traceId)}`)
}

function sessionHint(name: string): string {
  return /^[\w:-]+$/.test(name) ? `; for a session: hookspan tree --session ${name}` : ''
}

/** A file, or a directory for its `*.jsonl`; undefined if it does not exist. A pipe cannot be read twice, as files are. */
export async function placeAt(path: string): Promise<TracesPlace | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new Error(`cannot read ${path}: ${error.code}`, { cause: error })
    return undefined
  })
  if (found === undefined) return undefined
  if (found.isDirectory()) return { path, kind: 'directory', listFiles: () => listSegments(path) }
  if (!found.isFile()) throw new Error(`${path} is not a regular file`)
  return { path, kind: 'file', listFiles: async () => [path] }
}

/** The files to send. @throws if one of them is missing or holds no traces */
export async function traceFiles(operands: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const operand of operands) {
    const place = await placeAt(operand)
    if (place === undefined) throw new Error(`there is no file ${operand}${sessionHint(operand)}`)
    const found = await place.listFiles()
    if (found.length === 0) throw new Error(`there are no *.jsonl files in ${operand}`)
    files.push(...found)
  }
  for (const path of files) {
    const none = await noTraceFile(path)
    if (none !== undefined) throw new Error(`there are no traces in ${path}: ${none.problem}`)
  }
  return files
}

/**
 * Called if no traces were found.
 *
 * @param unreadableCount the number of unreadable lines
 * @throws an error that describes the file, if it is not a trace log
 */
export async function expectTraceFiles({ path, kind, listFiles }: TracesPlace, unreadableCount: number): Promise<void> {
  if (kind === 'local log') return
  for (const file of await listFiles()) {
    const trouble = await noTraceFile(file)
    if (trouble !== undefined) throw new Error(`${file} is not a trace log: ${trouble.problem}`)
  }
  if (kind === 'file' && unreadableCount > 0) {
    const lines = countOf(unreadableCount, 'line')
    throw new Error(`${path} is not a trace log: no trace could be read from its ${lines}; expected one request a line`)
  }
}

export function indexSubject({ kind, path }: TracesPlace, io: CommandIo): IndexSubject {
  const prices = readPrices(io)
  if (kind !== 'local log') return dropUndefined({ kind, path, prices })
  return dropUndefined({ kind: 'log' as const, stateDirectory: stateDirectory(io.env, io.home), prices })
}

/** The first line of a trace log may be longer; in other files it usually is not. */
const HEAD_BYTES = 65_536

/** Names, one of which is in every line of a readable file. */
const OURS = /"(?:resourceSpans|hookspan\.segment|hookspan\.open)"\s*:/
const OTHER_SIGNAL = /^\s*\{\s*"resource(Metrics|Logs)"\s*:/

/**
 * Checks the beginning of a file. Undefined if it may be a trace log; `isCertain` if no line can be a trace. Messages never
 * quote the file, which may contain prompts. @throws the error of the file system if the file cannot be read
 */
async function noTraceFile(path: string): Promise<{ problem: string; isCertain: boolean } | undefined> {
  const head = await buffer(createReadStream(path, { end: HEAD_BYTES - 1 }))
  const isCompressed = head[0] === 0x1f && head[1] === 0x8b
  if (isCompressed) return { isCertain: true, problem: `it is compressed with gzip: gunzip -k ${path}` }
  const text = head.toString('utf8')
  if (OURS.test(text)) return undefined
  const values = text.split('\n').map(parseJson)
  const record = values.find(each => ['hook', 'event'].some(key => typeof peek(each, key) === 'string'))
  if (record === undefined) {
    const signal = OTHER_SIGNAL.exec(text)?.[1]
    if (text.trim() === '') return { isCertain: false, problem: 'it is empty' }
    if (head.includes(0)) return { isCertain: false, problem: 'it is a binary file' }
    if (signal !== undefined)
      return { isCertain: false, problem: `it holds OpenTelemetry ${signal.toLowerCase()}, and no traces` }
    const problem = 'it has no line of OTLP/JSON with "resourceSpans"; expected one request a line'
    return { isCertain: false, problem }
  }
  if (typeof peek(record, 'hook') === 'string')
    return { isCertain: true, problem: `these are hook records: hookspan replay ${path}` }
  // A recording with a fixture line names its host.
  const hasHost = values.some(each => typeof peek(peek(each, 'fixture'), 'host') === 'string')
  const command = `hookspan replay ${hasHost ? '' : '--host HOST '}${path}`
  return { isCertain: true, problem: `these are raw events of a host: ${command}` }
}

export const FILTER_OPTIONS = {
  errors: { aka: ['error', 'failed'], help: 'only traces with an error' },
  since: {
    value: 'WHEN',
    aka: ['after', 'from'],
    help: `only traces with a span that ended since then, or that are still running: an age (90s, 30m, 2h, 7d, 1w) or a time
      (2026-11-22, 2026-11-22T15:04), UTC unless it has a zone`,
  },
  model: { value: 'M', help: 'only traces with model M; M, T and S may be prefixes' },
  tool: { value: 'T', help: 'only traces that used tool T' },
  session: { value: 'S', help: 'only traces of session S' },
} as const

export function readFilter(values: CommandArguments<typeof FILTER_OPTIONS>['values'], now: number): TraceFilter {
  const { session: sessionId, model, tool, errors, since } = values
  const from = since === undefined ? undefined : sinceAt(since, now)
  return dropUndefined({ sessionId, model, tool, hasError: errors || undefined, sinceAt: from })
}

export function readLast(last: string | undefined): number | undefined {
  if (last !== undefined && !/^\d{1,9}$/.test(last)) {
    throw new WrongUse(`--last takes a whole number, got ${JSON.stringify(last)}`)
  }
  return last === undefined ? undefined : Number(last)
}

export type FoundTraces = TraceSelection & { readonly paths: readonly string[] }

/** @throws Error if there are no traces, because a file is not a trace log */
export async function findTraces(place: TracesPlace, query: TraceQuery, io: CommandIo): Promise<FoundTraces> {
  const paths = await place.listFiles()
  const selection = await readWatched(paths, onRead => selectTraces(paths, query, onRead, spanPricer(io)), io)
  if (selection.traceCount === 0) await expectTraceFiles(place, selection.unreadableCount)
  return { ...selection, paths }
}

const MAX_NAMED = 10

/** @throws an error that lists the candidates if the prefix is not unique */
export async function findTrace(
  place: TracesPlace,
  filter: TraceFilter & { readonly traceId: string },
  io: CommandIo,
): Promise<FoundTraces & { readonly tree: TraceTree }> {
  const found = await findTraces(place, { ...filter, last: MAX_NAMED }, io)
  const [tree] = found.trees
  if (tree === undefined || found.matchCount > 1) throw new Error(whichTrace(place, filter, found))
  return { ...found, tree }
}

export function nothingThere({ path, kind }: TracesPlace): string {
  if (kind !== 'local log') return `There are no traces in ${path}: expected OTLP/JSON, one request a line.`
  return `There are no traces in ${path} yet. Run "hookspan demo" to record some, or name a file: hookspan tree FILE`
}

export function nothingFound(place: TracesPlace, query: TraceQuery, selection: TraceSelection): string {
  const { traceCount, matchCount, extent } = selection
  if (traceCount === 0) return nothingThere(place)
  if (matchCount > 0) return `${place.path} holds ${humanCount(traceCount)} traces, but --last is ${query.last}.`
  const period = extent && `, of ${humanInstant(extent.startAt)} to ${humanInstant(extent.endAt)}`
  return `No trace ${conditions(query)} among the ${humanCount(traceCount)} in ${place.path}${period ?? ''}.`
}

export function whichTrace(
  place: TracesPlace,
  filter: TraceFilter & { readonly traceId: string },
  selection: TraceSelection,
): string {
  const { traceId, ...rest } = filter
  const { trees, traceCount, matchCount } = selection
  const more = conditions(rest)
  const asked = `whose id starts with ${traceId}${more === '' ? '' : `, ${more},`}`
  if (matchCount > 1) {
    const others = matchCount > trees.length ? ` and ${matchCount - trees.length} more` : ''
    const names = trees.map(tree => {
      const { agent, sessionId } = summarize(tree)
      const whose = [agent, sessionId, humanInstant(tree.startAt)].filter(text => text !== '').join(', ')
      return `${displayText(tree.traceId)} (${whose})`
    })
    return `there are ${countOf(matchCount, 'trace')} ${asked}: ${names.join(', ')}${others}; give more digits`
  }
  const among = traceCount === 0 ? `in ${place.path}` : `among the ${humanCount(traceCount)} in ${place.path}`
  return `there is no trace ${asked} ${among}, and no file of that name${sessionHint(traceId)}`
}

function conditions({ sessionId, model, tool, hasError, sinceAt }: TraceFilter): string {
  const parts = [
    sessionId === undefined ? '' : `of session ${JSON.stringify(sessionId)}`,
    model === undefined ? '' : `with model ${JSON.stringify(model)}`,
    tool === undefined ? '' : `with tool ${JSON.stringify(tool)}`,
    hasError === true ? 'with an error' : '',
    sinceAt === undefined ? '' : `since ${humanInstant(sinceAt)}`,
  ].filter(part => part !== '')
  const [last = ''] = parts.splice(-1)
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`
}

import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { stateDirectory } from '../plugin/config/paths.ts'
import { parseJson } from '../reading/attribute-value.ts'
import { countOf } from '../reading/human-figures.ts'
import { listSegments } from '../reading/trace-log.ts'
import { type CommandIo, WrongUse } from './command.ts'

/** The location of traces. Files are listed on demand, because a log gets new segments while it is followed. */
export interface TracesPlace {
  readonly path: string
  readonly kind: 'local log' | 'directory' | 'file'
  listFiles(): Promise<readonly string[]>
}

interface TreeSubject {
  readonly place: TracesPlace
  readonly traceId: string | undefined
}

/**
 * An existing path is FILE; another word that can be a prefix of an id is TRACE_ID.
 *
 * @throws {WrongUse} if there are two of a kind; otherwise an error with the reason why FILE cannot be read
 */
export async function findSubject(names: readonly string[], io: CommandIo): Promise<TreeSubject> {
  const files: TracesPlace[] = []
  const traceIds: string[] = []
  for (const name of names) {
    const place = await findPlace(name)
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

async function findPlace(name: string): Promise<TracesPlace | undefined> {
  const place = await placeAt(name)
  if (place === undefined) {
    if (canBeTraceId(name)) return undefined
    const hint = /^[\w-]+$/.test(name) ? ', and a trace id has only the digits 0 to 9 and a to f' : ''
    throw new Error(`there is no file ${name}${hint}`)
  }
  const trouble = place.kind === 'file' ? await noTraceFile(name) : undefined
  if (trouble?.isCertain === true) throw new Error(`${name} is not a trace log: ${trouble.problem}`)
  return place
}

/** A file, or a directory for its `*.jsonl`; undefined if it does not exist. */
export async function placeAt(path: string): Promise<TracesPlace | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new Error(`cannot read ${path}: ${error.code}`, { cause: error })
    return undefined
  })
  if (found === undefined) return undefined
  if (found.isDirectory()) return { path, kind: 'directory', listFiles: () => listSegments(path) }
  // The file is read twice, which a pipe does not support.
  if (!found.isFile()) throw new Error(`${path} is not a regular file`)
  return { path, kind: 'file', listFiles: async () => [path] }
}

/**
 * The files to send.
 *
 * @throws if one of them is missing or holds no traces
 */
export async function traceFiles(operands: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const operand of operands) {
    const place = await placeAt(operand)
    if (place === undefined) throw new Error(`there is no file ${operand}`)
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

interface NoTraceFile {
  readonly problem: string
  /** Certain from the beginning of the file: no line can be a trace. */
  readonly isCertain: boolean
}

/** The first line of a trace log may be longer; in other files it usually is not. */
const HEAD_BYTES = 65_536

/** Names, one of which is in every line of a readable file. */
const OURS = /"(?:resourceSpans|hookspan\.segment|hookspan\.open)"\s*:/
const OTHER_SIGNAL = /^\s*\{\s*"resource(Metrics|Logs)"\s*:/

/**
 * Checks the beginning of a file. Undefined if it may be a trace log. Messages never quote the file, which may contain prompts.
 *
 * @throws the error of the file system if the file cannot be read
 */
async function noTraceFile(path: string): Promise<NoTraceFile | undefined> {
  const head = await readHead(path)
  if (head.length === 0) return doubtful('it is empty')
  if (head[0] === 0x1f && head[1] === 0x8b) return certain(`it is compressed with gzip: gunzip -k ${path}`)
  const text = head.toString('utf8')
  if (OURS.test(text)) return undefined
  if (head.includes(0)) return doubtful('it is a binary file')
  const signal = OTHER_SIGNAL.exec(text)?.[1]
  if (signal !== undefined) return doubtful(`it holds OpenTelemetry ${signal.toLowerCase()}, and no traces`)
  return ofLines(text, path, head.length < HEAD_BYTES)
}

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function ofLines(text: string, path: string, isWhole: boolean): NoTraceFile {
  const lines = text.split('\n')
  // The last line may be cut off.
  if (!isWhole && lines.length > 1) lines.pop()
  const filled = lines.filter(line => line.trim() !== '')
  if (filled.length === 0) return doubtful('there is nothing but blanks in it')
  const values = filled.map(parseJson).filter(value => value !== undefined)
  const host = values.map(hostOfHead).find(each => each !== undefined)
  const known = values.map(value => ofRecord(value, host, path)).find(each => each !== undefined)
  if (known !== undefined) return known
  if (isWhole && parseJson(text) !== undefined)
    return doubtful('it is other JSON, no OTLP: there is no "resourceSpans" in it')
  if (values.length > 0) return doubtful('its lines are other JSON, no OTLP: there is no "resourceSpans" in them')
  if (/^\s*[{[]/.test(text))
    return doubtful('it begins like JSON, but its first line is none; expected one request a line')
  return doubtful('it is text, no JSON')
}

/** The host in the fixture line of a recording, so that the suggested replay command needs no option for it. */
function hostOfHead(value: unknown): string | undefined {
  const host = (value as { fixture?: { host?: unknown } } | null)?.fixture?.host
  return typeof host === 'string' ? host : undefined
}

function ofRecord(value: unknown, host: string | undefined, path: string): NoTraceFile | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { hook, event } = value as { hook?: unknown; event?: unknown }
  if (typeof hook === 'string') return certain(`these are hook records: hookspan replay ${path}`)
  if (typeof event === 'string')
    return certain(`these are raw events of a host: hookspan replay ${host === undefined ? '--host HOST ' : ''}${path}`)
  return undefined
}

function certain(problem: string): NoTraceFile {
  return { problem, isCertain: true }
}

function doubtful(problem: string): NoTraceFile {
  return { problem, isCertain: false }
}

import { open } from 'node:fs/promises'
import { parsed } from '../reading/attribute-value.ts'

/** The reason why a file holds no traces, in plain words. */
export interface NoTraceFile {
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
export async function noTraceFile(path: string): Promise<NoTraceFile | undefined> {
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
  const values = filled.map(parsed).filter(value => value !== undefined)
  const host = values.map(hostOfHead).find(each => each !== undefined)
  const known = values.map(value => ofRecord(value, host, path)).find(each => each !== undefined)
  if (known !== undefined) return known
  if (isWhole && parsed(text) !== undefined)
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

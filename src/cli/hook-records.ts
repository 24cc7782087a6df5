import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import type { HookMeta } from '../contract/index.ts'
import { LineSplitter, type NumberedLine } from '../viewer/line-splitter.ts'

/** A record as it stands in a file: what the contract says, or anything else that the core will judge. */
export interface ReadRecord {
  readonly hook: string
  readonly payload: unknown
  readonly meta: HookMeta
}

export type RecordEntry =
  | { readonly record: ReadRecord }
  /** A line that is no record; line numbers start at 1. */
  | { readonly line: number; readonly problem: string }

interface HeadLine {
  readonly fixture: { readonly host?: unknown }
}

/** Half a number, a bare NaN: what JSON has no word for, Python writes all the same, and one event is lost with it. */
const BARE_NUMBER = /(?<=[:[,]\s*)-?(?:NaN|Infinity)(?=\s*[,}\]])/g

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const repaired = text.replace(BARE_NUMBER, 'null')
    if (repaired === text) throw error
    return JSON.parse(repaired)
  }
}

function problemOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'expected an object with "hook" and "payload"'
  if ('event' in value && !('hook' in value)) return 'a raw capture of a host, not a hook record'
  return typeof (value as { hook?: unknown }).hook === 'string' ? undefined : 'there is no "hook" with a name'
}

/** Reads hook records, one a line. The first line may describe the file; its host is then the host of all records. */
export class RecordReader {
  #host: string | undefined

  /** @param host of records that name none; a file's own head line comes second */
  constructor(host: string | undefined) {
    this.#host = host
  }

  async *read(input: Readable): AsyncGenerator<RecordEntry, void> {
    const splitter = new LineSplitter()
    for await (const chunk of input) {
      for (const line of splitter.push(Buffer.from(chunk as Uint8Array))) yield* this.#entries(line)
    }
    const last = splitter.finish()
    if (last !== undefined) yield* this.#entries(last)
  }

  *#entries(line: NumberedLine): Generator<RecordEntry, void> {
    if ('problem' in line) yield line
    else {
      const entry = this.#entry(line.line, line.text)
      if (entry !== undefined) yield entry
    }
  }

  #entry(line: number, text: string): RecordEntry | undefined {
    let value: unknown
    try {
      value = parse(text)
    } catch (error) {
      return { line, problem: `not JSON: ${error instanceof Error ? error.message.split('\n')[0] : 'unreadable'}` }
    }
    if (line === 1 && isHead(value)) {
      if (typeof value.fixture.host === 'string') this.#host ??= value.fixture.host
      return undefined
    }
    const problem = problemOf(value)
    if (problem !== undefined) return { line, problem }
    const { hook, payload, at, host, delivery_id, correlation } = value as ReadRecord & HookMeta
    const meta = { at, host: host ?? this.#host, delivery_id, correlation }
    return { record: { hook, payload, meta: dropUndefined(meta) } }
  }
}

function isHead(value: unknown): value is HeadLine {
  return typeof value === 'object' && value !== null && typeof (value as Partial<HeadLine>).fixture === 'object' && (value as Partial<HeadLine>).fixture !== null
}

function dropUndefined(meta: { readonly [Key in keyof HookMeta]: HookMeta[Key] | undefined }): HookMeta {
  return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined))
}

/** A file, or standard input for `-`. */
export function openInput(name: string, stdin: Readable): Readable {
  return name === '-' ? stdin : createReadStream(name)
}

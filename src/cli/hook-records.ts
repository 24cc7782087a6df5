import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { parseEventJson } from '../agents/event-json.ts'
import type { HostEvent, HostMachine } from '../agents/host-event.ts'
import { MACHINES } from '../agents/machines.ts'
import { numberOf, peek, textOf } from '../contract/foreign.ts'
import type { HookMeta, HookRecord } from '../contract/index.ts'
import { suggestion } from '../plugin/config/nearest.ts'
import { dropUndefined, isRecord } from '../reading/attribute-value.ts'
import { LineSplitter, type NumberedLine } from '../reading/line-reader.ts'

export type RecordEntry =
  | { readonly record: ReadRecord }
  /** An invalid line. Line numbers start at 1. */
  | { readonly line: number; readonly problem: string }

export const HOSTS_WITH_ADAPTER: readonly string[] = Object.keys(MACHINES)

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Describes the problem without quoting the line, which may be a prompt or a secret. */
function problemOf(value: unknown): string | undefined {
  if (!isRecord(value)) return `expected an object {"hook": …, "payload": …}, got ${kindOf(value)}`
  const { hook } = value
  if (typeof hook === 'string') return hook.trim() === '' ? 'its "hook" is empty' : undefined
  return hook === undefined ? 'it has no "hook"' : `its "hook" is ${kindOf(hook)}, not a name`
}

/**
 * Reads hook records, one a line, or raw events of a host, which its translator turns into records. A line `{"fixture": {…}}`
 * sets the default host for the following records. Usually it is the first line, but concatenated files have several.
 */
export class RecordReader {
  readonly #given: string | undefined
  #headHost: string | undefined
  #run: RawEvents | undefined

  /** @param host default host of records and events; overrides fixture lines */
  constructor(host: string | undefined) {
    this.#given = host
  }

  /** @param onTaken called with the number of bytes read since the last call, before each entry */
  async *read(input: Readable, onTaken?: (bytes: number) => void): AsyncGenerator<RecordEntry, void> {
    const splitter = new LineSplitter()
    for await (const chunk of input) {
      for (const line of splitter.splitChunk(Buffer.from(chunk as Uint8Array), onTaken)) yield* this.#read(line)
    }
    const last = splitter.endLine()
    if (last !== undefined) yield* this.#read(last)
    yield* this.#endRun()
  }

  *#read(numbered: NumberedLine): Generator<RecordEntry, void> {
    const { line } = numbered
    const parsed = 'problem' in numbered ? numbered : parseRecordJson(numbered.text)
    if ('problem' in parsed) yield { line, problem: parsed.problem }
    else if (isRecord(parsed.value) && !('hook' in parsed.value)) yield* this.#withoutHook(line, parsed.value)
    else yield this.#record(line, parsed.value)
  }

  *#withoutHook(line: number, value: Record<string, unknown>): Generator<RecordEntry, void> {
    const { fixture } = value
    if (typeof fixture === 'object' && fixture !== null) {
      yield* this.#endRun()
      const host = peek(fixture, 'host')
      this.#headHost = typeof host === 'string' ? host : undefined
    } else if (textOf(value['event']) !== undefined) yield* this.#ofEvent(line, value as unknown as HostEvent)
    else yield this.#record(line, value)
  }

  #record(line: number, value: unknown): RecordEntry {
    const problem = problemOf(value)
    if (problem !== undefined) return { line, problem }
    const { hook, payload, at, host, delivery_id, correlation } = value as ReadRecord & HookMeta
    const meta = { at, host: host ?? this.#given ?? this.#headHost, delivery_id, correlation }
    return { record: { hook, payload, meta: dropUndefined(meta) } }
  }

  *#ofEvent(line: number, event: HostEvent): Generator<RecordEntry, void> {
    const host = this.#given ?? this.#headHost
    this.#run ??= host === undefined ? undefined : RawEvents.of(host)
    if (this.#run === undefined) yield { line, problem: noAdapter(host) }
    for (const record of this.#run?.read(event) ?? []) yield { record }
  }

  *#endRun(): Generator<RecordEntry, void> {
    for (const record of this.#run?.end() ?? []) yield { record }
    this.#run = undefined
  }
}

function noAdapter(host: string | undefined): string {
  const hosts = HOSTS_WITH_ADAPTER.join(', ')
  if (host === undefined) return `a raw event without a host; name it with --host (${hosts})`
  const advice = suggestion(host, HOSTS_WITH_ADAPTER)
  const what = `a raw event of ${JSON.stringify(host)}, whose events are not supported; supported: ${hosts}`
  return advice === undefined ? what : `${what}; ${advice}`
}

/** A problem never quotes the line: the engine's own message does, and the line may be private. */
function parseRecordJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parseEventJson(text) }
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    const position = Number(/at position (\d+)/.exec(message)?.[1])
    const isCutOff = message.startsWith('Unexpected end') || position >= text.trimEnd().length
    if (isCutOff) return { problem: 'not JSON: it ends too early' }
    return { problem: Number.isNaN(position) ? 'not JSON' : `not JSON from column ${position + 1} on` }
  }
}

export function openInput(name: string, stdin: Readable): Readable {
  return name === '-' ? stdin : createReadStream(name)
}

/** A record as read from a file. Not validated: the core does that. */
export interface ReadRecord {
  readonly hook: string
  readonly payload: unknown
  readonly meta: HookMeta
}

export class RawEvents {
  readonly host: string
  readonly #machine: HostMachine
  #lastAt = 0

  static of(host: string): RawEvents | undefined {
    const create = Object.hasOwn(MACHINES, host) ? MACHINES[host] : undefined
    return create && new RawEvents(host, create())
  }

  private constructor(host: string, machine: HostMachine) {
    this.host = host
    this.#machine = machine
  }

  /** Translates an event. Events unknown to the translator become records that the core counts as ignored, as in a live run. */
  read(event: HostEvent): ReadRecord[] {
    this.#lastAt = numberOf(event.at) ?? this.#lastAt
    const records = this.#machine.accept({ ...event, at: this.#lastAt })
    const unknown = { hook: `${this.host}:${event.event}`, payload: {}, meta: { host: this.host, at: this.#lastAt } }
    return records?.map(record => this.#asRead(record)) ?? [unknown]
  }

  end(): ReadRecord[] {
    return this.#machine.end(this.#lastAt).map(record => this.#asRead(record))
  }

  #asRead({ hook, payload, ...meta }: HookRecord): ReadRecord {
    return { hook, payload, meta: { ...(meta as HookMeta), host: this.host } }
  }
}

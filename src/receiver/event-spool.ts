import { type FSWatcher, readdirSync, readFileSync, renameSync, rmSync, type Stats, watch } from 'node:fs'
import { join } from 'node:path'
import { parseEventJson } from '../agents/event-json.ts'
import type { Delivery } from '../agents/inlet.ts'
import { OPEN, withOwnFile, writePrivate } from '../delivery/trace-log/private-place.ts'
import { DROPPED, SPOOL_LIMITS } from '../plugin/config/paths.ts'
import { type Refusal, Refused } from './counts.ts'
import { TEXT_LIMIT } from './limits.ts'
import { isThere } from './place.ts'

/** A spool file: one event that found no receiver. */
export interface SpooledEvent {
  /** The path of a request: `/claude-code`. */
  readonly path: string
  readonly delivery: Delivery
  readonly bytes: number
  /** Removes the file. Called when every record of the event is journalled. */
  remove(): void
  /** Leaves the file for the next scan, because the event cannot be accepted now. */
  leave(): void
}

const NAME = /^\d{13}-\d{1,10}-[0-9a-f]{8}\.json$/
const UNFINISHED = /^\d{13}-\d{1,10}-[0-9a-f]{8}(?:\.json)?\.tmp$/
const FOR_OTHERS = 0o077
/** A client that has not renamed its temporary file by then is dead. */
const UNFINISHED_MILLIS = 3_600_000
/** Limits the remembered names of refused files. They are remembered so that each is counted once. */
const REFUSED_LIMIT = 10_000
const DROPPED_BYTES = 1_000_000

/** Explains a refused file or directory, and what the user can do. */
export function aboutRefused(why: Refusal, directory: string): string {
  return why === 'spoolPlace'
    ? `${directory} is no directory of its own; move it away: what finds no receiver is lost`
    : `in ${directory} are files that no client of hookspan wrote, or not to their end; they stay there, not read`
}

/** The spool's files, oldest first, each validated when it is reached. Files of other programs are left alone. */
export class EventSpool {
  readonly #directory: string
  readonly #mostBytes: number
  readonly #isEndpoint: (path: string) => boolean
  readonly #refused = new Set<string>()
  readonly #inHand = new Set<string>()
  #laidBy = 0

  constructor(directory: string, mostBytes: number, isEndpoint: (path: string) => boolean) {
    this.#directory = directory
    this.#mostBytes = mostBytes
    this.#isEndpoint = isEndpoint
  }

  /** @param refuse called once for each refused file, and each time for a refused directory */
  *events(refuse: (why: 'spoolFile' | 'spoolPlace') => void): Generator<SpooledEvent> {
    for (const name of this.#names(refuse)) {
      if (this.#refused.has(name) || this.#inHand.has(name)) continue
      const event = this.#read(name)
      if (event !== undefined) yield event
      else if (isThere(join(this.#directory, name)) !== undefined) {
        if (this.#refused.size < REFUSED_LIMIT) this.#refused.add(name)
        refuse('spoolFile')
      }
    }
  }

  /** The number of events that clients dropped for lack of room since the last call. */
  takeDropped(): number {
    const [path, taken] = [join(this.#directory, DROPPED), join(this.#directory, `${DROPPED}.${process.pid}`)]
    if (isThere(this.#directory) !== 'directory' || isThere(path) !== 'other') return 0
    try {
      // A client that appends meanwhile starts a new file, or appends to this one before it is read.
      renameSync(path, taken)
      const text = withOwnFile(taken, OPEN.read, (descriptor, { size }) =>
        size > DROPPED_BYTES ? '' : readFileSync(descriptor, 'latin1'),
      )
      rmSync(taken, { force: true })
      return text.split('\n').reduce((sum, line) => sum + (/^\d{1,9}$/.test(line) ? Number(line) : 0), 0)
    } catch {
      return 0
    }
  }

  clear(now: number): void {
    for (const name of this.#names(() => undefined, UNFINISHED)) {
      try {
        if (now - Number(name.slice(0, 13)) > UNFINISHED_MILLIS) rmSync(join(this.#directory, name), { force: true })
      } catch {
        // A directory, or owned by another user.
      }
    }
  }

  /** Returns false if the spool is full. @throws the error of the file system */
  put(path: string, { at, id, body, headers: { traceparent } }: Delivery): boolean {
    if (this.#laidBy >= SPOOL_LIMITS.files) return false
    // Numbered, because several events can arrive in the same millisecond.
    const number = (this.#laidBy++).toString(16).padStart(8, '0')
    const name = `${String(Math.floor(at)).padStart(13, '0')}-${process.pid}-${number}.json`
    writePrivate(join(this.#directory, name), JSON.stringify({ path, at, id, traceparent, body }))
    return true
  }

  /** Calls back when files may have been added. Without file system events, only the caller's periodic scans find them. */
  watch(changed: () => void): FSWatcher | undefined {
    try {
      const watcher = watch(this.#directory, { persistent: false }, changed)
      return watcher.on('error', () => watcher.close())
    } catch {
      return undefined
    }
  }

  #names(refuse: (why: 'spoolPlace') => void, pattern: RegExp = NAME): string[] {
    const found = isThere(this.#directory)
    if (found !== undefined && found !== 'directory') refuse('spoolPlace')
    if (found !== 'directory') return []
    const names = readdirSync(this.#directory)
    const there = new Set(names)
    for (const name of this.#refused) if (!there.has(name)) this.#refused.delete(name)
    return names.filter(name => pattern.test(name)).sort()
  }

  #read(name: string): SpooledEvent | undefined {
    const file = join(this.#directory, name)
    try {
      return withOwnFile(file, OPEN.read, (descriptor, stats) => {
        this.#expectPrivate(stats)
        const { path, delivery } = spooled(parseEventJson(readFileSync(descriptor, 'utf8')))
        if (!this.#isEndpoint(path)) throw new Refused('spoolFile')
        this.#inHand.add(name)
        return { path, delivery, bytes: stats.size, remove: () => this.#remove(name), leave: () => this.#leave(name) }
      })
    } catch {
      return undefined
    }
  }

  #remove(name: string): void {
    try {
      rmSync(join(this.#directory, name), { force: true })
      this.#inHand.delete(name)
    } catch {
      // If the file cannot be removed, it stays in `#inHand`, so that it is not processed again.
    }
  }

  #leave(name: string): void {
    this.#inHand.delete(name)
  }

  #expectPrivate({ size, mode, nlink }: Stats): void {
    if (size > this.#mostBytes || nlink > 1 || (process.platform !== 'win32' && (mode & FOR_OTHERS) !== 0)) {
      throw new Refused('spoolFile')
    }
  }
}

function spooled(value: unknown): { path: string; delivery: Delivery } {
  const { path, at, id, body, traceparent } = (value ?? {}) as Record<string, unknown>
  const isPath = typeof path === 'string' && /^\/[\w/-]{1,100}$/.test(path)
  const isTime = typeof at === 'number' && Number.isFinite(at) && at > 0 && at < 1e13
  const isId = id === undefined || isText(id)
  const isTold = traceparent === undefined || isText(traceparent)
  if (!isPath || !isTime || !isId || !isTold || body === undefined) throw new Refused('spoolFile')
  const headers = traceparent === undefined ? {} : { traceparent }
  return { path, delivery: { body: bodyOf(body), headers, at, ...(id !== undefined && { id }) } }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_LIMIT
}

/** Clients spool invalid JSON as a string, for example with `NaN`. */
function bodyOf(body: unknown): unknown {
  if (typeof body !== 'string') return body
  try {
    return parseEventJson(body)
  } catch {
    return body
  }
}

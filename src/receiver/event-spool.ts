import { type FSWatcher, readdirSync, readFileSync, renameSync, rmSync, watch } from 'node:fs'
import { join } from 'node:path'
import { parseEventJson } from '../agents/event-json.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import { ignoreErrors } from '../contract/foreign.ts'
import { OPEN, withOwnFile, writePrivate } from '../delivery/trace-log/private-file.ts'
import { DROPPED, SPOOL_LIMITS } from '../plugin/config/paths.ts'
import { TEXT_LIMIT } from './limits.ts'
import { fileKind } from './receiver-files.ts'
import { type Refusal, RefusedRequest } from './refusal.ts'

export interface SpooledEvent {
  /** The path of a request: `/claude-code`. */
  readonly path: string
  readonly delivery: HookDelivery
  readonly bytes: number
  remove(): void
  release(): void
}

const NAME = /^\d{13}-\d{1,10}-[0-9a-f]{8}\.json$/
const UNFINISHED = /^\d{13}-\d{1,10}-[0-9a-f]{8}(?:\.json(?:\.\d{1,10}-[0-9a-f]{8})?)?\.tmp$/
const FOR_OTHERS = 0o077
const UNFINISHED_MILLIS = 3_600_000
/** Limits the remembered names of refused files. They are remembered so that each is counted once. */
const REFUSED_LIMIT = 10_000
const DROPPED_BYTES = 1_000_000

export function spoolProblemLine(why: Refusal, directory: string): string {
  return why === 'spoolPlace'
    ? `${directory} is no directory of its own; move it away: events that find no receiver are lost`
    : `in ${directory} are files that no client of hookspan wrote completely; they are not read`
}

/** The spool's files, oldest first, each validated when it is reached. Files of other programs are left alone. */
export class EventSpool {
  readonly #directory: string
  readonly #maxBytes: number
  readonly #isEndpoint: (path: string) => boolean
  readonly #refused = new Set<string>()
  readonly #processing = new Set<string>()
  #written = 0

  constructor(directory: string, mostBytes: number, isEndpoint: (path: string) => boolean) {
    this.#directory = directory
    this.#maxBytes = mostBytes
    this.#isEndpoint = isEndpoint
  }

  *events(refuse: (why: 'spoolFile' | 'spoolPlace') => void): Generator<SpooledEvent> {
    for (const name of this.#names(refuse)) {
      if (this.#refused.has(name) || this.#processing.has(name)) continue
      const event = this.#read(name)
      if (event !== undefined) yield event
      else if (fileKind(join(this.#directory, name)) !== undefined) {
        if (this.#refused.size < REFUSED_LIMIT) this.#refused.add(name)
        refuse('spoolFile')
      }
    }
  }

  /** The number of events that clients dropped for lack of room since the last call. */
  takeDropped(): number {
    const [path, taken] = [join(this.#directory, DROPPED), join(this.#directory, `${DROPPED}.${process.pid}`)]
    if (fileKind(this.#directory) !== 'directory' || fileKind(path) !== 'other') return 0
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

  removeUnfinished(now: number): void {
    for (const name of this.#names(() => undefined, UNFINISHED)) {
      const isOld = now - Number(name.slice(0, 13)) > UNFINISHED_MILLIS
      // It may be a directory, or owned by another user.
      if (isOld) ignoreErrors(() => rmSync(join(this.#directory, name), { force: true }))
    }
  }

  /** Returns false if the spool is full. @throws the error of the file system */
  spoolEvent(path: string, { at, id, body, headers: { traceparent } }: HookDelivery): boolean {
    if (this.#written >= SPOOL_LIMITS.files) return false
    // Numbered, because several events can arrive in the same millisecond.
    const number = (this.#written++).toString(16).padStart(8, '0')
    const name = `${String(Math.floor(at)).padStart(13, '0')}-${process.pid}-${number}.json`
    writePrivate(join(this.#directory, name), JSON.stringify({ path, at, id, traceparent, body }))
    return true
  }

  /** Calls back when files may have been added. Without file system events, only the caller's periodic scans find them. */
  watch(changed: () => void): FSWatcher | undefined {
    const watcher = ignoreErrors(() => watch(this.#directory, { persistent: false }, changed))
    return watcher?.on('error', () => watcher.close())
  }

  #names(refuse: (why: 'spoolPlace') => void, pattern: RegExp = NAME): string[] {
    const found = fileKind(this.#directory)
    if (found !== undefined && found !== 'directory') refuse('spoolPlace')
    if (found !== 'directory') return []
    const names = readdirSync(this.#directory)
    const there = new Set(names)
    for (const name of this.#refused) if (!there.has(name)) this.#refused.delete(name)
    return names.filter(name => pattern.test(name)).sort()
  }

  #read(name: string): SpooledEvent | undefined {
    return ignoreErrors(() =>
      withOwnFile(join(this.#directory, name), OPEN.read, (descriptor, { size, mode, nlink }) => {
        const isOpen = process.platform !== 'win32' && (mode & FOR_OTHERS) !== 0
        if (size > this.#maxBytes || nlink > 1 || isOpen) throw new RefusedRequest('spoolFile')
        const { path, delivery } = parseSpooled(parseEventJson(readFileSync(descriptor, 'utf8')))
        if (!this.#isEndpoint(path)) throw new RefusedRequest('spoolFile')
        this.#processing.add(name)
        return {
          path,
          delivery,
          bytes: size,
          remove: () => this.#remove(name),
          release: () => void this.#processing.delete(name),
        }
      }),
    )
  }

  #remove(name: string): void {
    ignoreErrors(() => {
      rmSync(join(this.#directory, name), { force: true })
      // If the file cannot be removed, it stays here, so that it is not processed again.
      this.#processing.delete(name)
    })
  }
}

function parseSpooled(value: unknown): { path: string; delivery: HookDelivery } {
  const { path, at, id, body, traceparent } = (value ?? {}) as Record<string, unknown>
  const isPath = typeof path === 'string' && /^\/[\w/-]{1,100}$/.test(path)
  const isTime = typeof at === 'number' && Number.isFinite(at) && at > 0 && at < 1e13
  const isId = id === undefined || isText(id)
  const isTold = traceparent === undefined || isText(traceparent)
  if (!isPath || !isTime || !isId || !isTold || body === undefined) throw new RefusedRequest('spoolFile')
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

export interface DrainOptions {
  readonly spool: EventSpool
  /**
   * Accepts an event. `done` must be called when all its records are journalled. After a kill before that, the next receiver
   * finds the file.
   */
  take(event: SpooledEvent, done: () => void): void
  refuse(why: Refusal): void
}

/** Limits the spool files in memory at once. */
const MAX_FILES = 256
const MAX_BYTES = 16_000_000

/** Empties the spool whenever files are added. Never runs twice at once. */
export class SpoolDrain {
  readonly #options: DrainOptions
  #running: Promise<void> | undefined
  #isMore = false
  #isStopped = false
  #files = 0
  #bytes = 0
  #waiting: (() => void)[] = []

  constructor(options: DrainOptions) {
    this.#options = options
  }

  /** Resolves when the spool is empty. Files that are added meanwhile are read, too. */
  run(): Promise<void> {
    this.#isMore = true
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const resolve of this.#waiting.splice(0)) resolve()
    await this.#running
  }

  async #drain(): Promise<void> {
    const { spool, refuse } = this.#options
    while (this.#isMore && !this.#isStopped) {
      this.#isMore = false
      for (const event of spool.events(refuse)) {
        while (!this.#isStopped && (this.#files >= MAX_FILES || this.#bytes >= MAX_BYTES))
          await new Promise<void>(resolve => this.#waiting.push(resolve))
        if (this.#isStopped) {
          event.release()
          return
        }
        this.#take(event)
      }
    }
  }

  #take(event: SpooledEvent): void {
    this.#files += 1
    this.#bytes += event.bytes
    this.#options.take(event, () => {
      event.remove()
      this.#files -= 1
      this.#bytes -= event.bytes
      for (const resolve of this.#waiting.splice(0)) resolve()
    })
  }
}

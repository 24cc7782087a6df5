import { type FSWatcher, readdirSync, readFileSync, renameSync, rmSync, watch } from 'node:fs'
import { join } from 'node:path'
import { parseEventJson } from '../agents/event-json.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import { ignoreErrors } from '../contract/foreign.ts'
import { OPEN, withOwnFile, writePrivate } from '../delivery/trace-log/private-file.ts'
import { DROPPED, SPOOL_LIMITS } from '../plugin/config/paths.ts'
import { TEXT_LIMIT } from './limits.ts'
import { fileKind } from './receiver-files.ts'
import type { ReceiverCounts } from './refusal.ts'

const NAME = /^\d{13}-\d{1,10}-[0-9a-f]{8}\.json$/
const UNFINISHED = /^\d{13}-\d{1,10}-[0-9a-f]{8}(?:\.json(?:\.\d{1,10}-[0-9a-f]{8})?)?\.tmp$/
const FOR_OTHERS = 0o077
const UNFINISHED_MILLIS = 3_600_000
/** Limits the remembered names of refused files. They are remembered so that each is counted once. */
const REFUSED_LIMIT = 10_000
const DROPPED_BYTES = 1_000_000

/** Limits the spool files in memory at once. */
const MAX_FILES = 256
const MAX_BYTES = 16_000_000

interface SpoolOptions {
  readonly directory: string
  readonly maxBytes: number
  readonly counts: Pick<ReceiverCounts, 'countRefusal' | 'dropped'>
  isEndpoint(path: string): boolean
  say(line: string): void
  sayOnce(line: string): void
}

/** The spool's files, oldest first, each validated when it is reached. Files of other programs are left alone. */
export class EventSpool {
  readonly #options: SpoolOptions
  readonly #directory: string
  readonly #refused = new Set<string>()
  readonly #processing = new Set<string>()
  #written = 0
  #running: Promise<void> | undefined
  #isMore = false
  #isStopped = false
  #files = 0
  #bytes = 0
  #waiting: (() => void)[] = []

  constructor(options: SpoolOptions) {
    this.#options = options
    this.#directory = options.directory
  }

  /**
   * Empties the spool. Resolves when it is empty. Files that are added meanwhile are read, too. Never runs twice at once.
   *
   * @param take accepts an event. `done` must be called when all its records are journalled. After a kill before that, the next
   * receiver finds the file
   */
  drain(take: (path: string, delivery: HookDelivery, done: () => void) => void): Promise<void> {
    this.#reportDropped()
    this.#isMore = true
    this.#running ??= this.#drain(take).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const resolve of this.#waiting.splice(0)) resolve()
    await this.#running
  }

  async #drain(take: Parameters<EventSpool['drain']>[0]): Promise<void> {
    while (this.#isMore && !this.#isStopped) {
      this.#isMore = false
      if (!['directory', undefined].includes(fileKind(this.#directory))) this.#refuse('spoolPlace')
      for (const name of this.#names(NAME)) {
        const event = this.#refused.has(name) || this.#processing.has(name) ? undefined : this.#read(name)
        if (event === undefined) continue
        while (!this.#isStopped && (this.#files >= MAX_FILES || this.#bytes >= MAX_BYTES))
          await new Promise<void>(resolve => this.#waiting.push(resolve))
        if (this.#isStopped) return
        this.#processing.add(name)
        this.#files += 1
        this.#bytes += event.bytes
        take(event.path, event.delivery, () => this.#remove(name, event.bytes))
      }
    }
  }

  /** Reports the events that clients dropped for lack of room since the last call. */
  #reportDropped(): void {
    const dropped = this.#takeDropped()
    if (dropped === 0) return
    this.#options.counts.dropped += dropped
    this.#options.say(`${dropped} events were lost: no receiver ran, and the spool was full`)
  }

  #takeDropped(): number {
    const [path, taken] = [join(this.#directory, DROPPED), join(this.#directory, `${DROPPED}.${process.pid}`)]
    if (fileKind(this.#directory) !== 'directory' || fileKind(path) !== 'other') return 0
    const dropped = ignoreErrors(() => {
      // A client that appends meanwhile starts a new file, or appends to this one before it is read.
      renameSync(path, taken)
      const text = withOwnFile(taken, OPEN.read, (descriptor, { size }) =>
        size > DROPPED_BYTES ? '' : readFileSync(descriptor, 'latin1'),
      )
      rmSync(taken, { force: true })
      return text.split('\n').reduce((sum, line) => sum + (/^\d{1,9}$/.test(line) ? Number(line) : 0), 0)
    })
    return dropped ?? 0
  }

  removeUnfinished(now: number): void {
    for (const name of this.#names(UNFINISHED)) {
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

  #names(pattern: RegExp): string[] {
    if (fileKind(this.#directory) !== 'directory') return []
    const names = readdirSync(this.#directory)
    const there = new Set(names)
    for (const name of this.#refused) if (!there.has(name)) this.#refused.delete(name)
    return names.filter(name => pattern.test(name)).sort()
  }

  /** Undefined, and refused once, if no client of hookspan wrote the file completely. Undefined also if it is gone. */
  #read(name: string) {
    const path = join(this.#directory, name)
    const event = ignoreErrors(() =>
      withOwnFile(path, OPEN.read, (descriptor, { size, mode, nlink }) => {
        const isOpen = process.platform !== 'win32' && (mode & FOR_OTHERS) !== 0
        if (size > this.#options.maxBytes || nlink > 1 || isOpen) return undefined
        const spooled = spooledEvent(parseEventJson(readFileSync(descriptor, 'utf8')), size)
        return spooled !== undefined && this.#options.isEndpoint(spooled.path) ? spooled : undefined
      }),
    )
    if (event === undefined && fileKind(path) !== undefined) {
      if (this.#refused.size < REFUSED_LIMIT) this.#refused.add(name)
      this.#refuse('spoolFile')
    }
    return event
  }

  #refuse(why: 'spoolFile' | 'spoolPlace'): void {
    const { counts, sayOnce } = this.#options
    counts.countRefusal(why)
    sayOnce(
      why === 'spoolPlace'
        ? `${this.#directory} is no directory of its own; move it away: events that find no receiver are lost`
        : `in ${this.#directory} are files that no client of hookspan wrote completely; they are not read`,
    )
  }

  #remove(name: string, bytes: number): void {
    ignoreErrors(() => {
      rmSync(join(this.#directory, name), { force: true })
      // If the file cannot be removed, it stays here, so that it is not processed again.
      this.#processing.delete(name)
    })
    this.#files -= 1
    this.#bytes -= bytes
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** `path`: that of a request, for example `/claude-code`. */
function spooledEvent(value: unknown, bytes: number) {
  const { path, at, id, body, traceparent } = (value ?? {}) as Record<string, unknown>
  const isPath = typeof path === 'string' && /^\/[\w/-]{1,100}$/.test(path)
  const isTime = typeof at === 'number' && Number.isFinite(at) && at > 0 && at < 1e13
  const isId = id === undefined || isText(id)
  const isTold = traceparent === undefined || isText(traceparent)
  if (!isPath || !isTime || !isId || !isTold || body === undefined) return undefined
  const headers = traceparent === undefined ? {} : { traceparent }
  const delivery: HookDelivery = { body: bodyOf(body), headers, at, ...(id !== undefined && { id }) }
  return { path, bytes, delivery }
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

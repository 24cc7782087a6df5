import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { jsonIn } from '../agents/event-json.ts'
import { ignoreErrors, numberOf, peek, textOf } from '../contract/foreign.ts'
import { SegmentFile } from '../delivery/trace-log/index.ts'
import { makePrivateDirectory, OPEN, withOwnFile } from '../delivery/trace-log/private-file.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import { LIMITS } from './limits.ts'

export interface ReceivedRequest {
  readonly path: string
  readonly at: number
  /** The sender's id, or one that the receiver made. Requests with the same id are processed once. */
  readonly id: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Buffer
}

/** A request that an earlier receiver accepted, and whose events are not all in the event journal. */
export interface RecoveredRequest {
  readonly request: ReceivedRequest
  settle(): void
}

const NAME = /^requests-(\d{8})$/
const LINE_END = 0x0a
/** Of one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3
/** A larger file is replaced by a new one, and removed when its last request is settled. */
const SEGMENT_BYTES = 4 * 1_048_576
const MAX_FILE_BYTES = SEGMENT_BYTES + 2 * LIMITS.bodyBytes
const RETRY_MILLIS = 1000

/**
 * The accepted requests whose events are not journalled yet. Each is written before it is answered. A receiver that is killed
 * thus leaves every answered request to the next one. Usually the file is empty again some milliseconds later. Never throws:
 * if the file cannot be written, recording goes on.
 */
export class RequestJournal {
  readonly #directory: string
  readonly #report: Pick<Diagnostics, 'warn'>
  #recovered: RecoveredRequest[] = []
  #current: RequestSegment | undefined
  #number = 0
  #isClosed = false
  #isFailing = false
  #triedAt = 0

  constructor(directory: string, report: Pick<Diagnostics, 'warn'>) {
    this.#directory = directory
    this.#report = report
    try {
      makePrivateDirectory(directory, line => report.warn(line))
      this.#recover()
    } catch (error) {
      this.#reportFailure(error)
    }
  }

  takeRecovered(): readonly RecoveredRequest[] {
    return this.#recovered.splice(0)
  }

  /** Writes a request to the file. Returns a function to call when all its events are journalled. */
  appendRequest(request: ReceivedRequest): () => void {
    const segment = this.#usableSegment()
    if (segment === undefined) return () => undefined
    try {
      segment.file?.appendNow(bytesOf(request))
      this.#isFailing = false
      return this.#createSettle(segment)
    } catch (error) {
      this.#reportFailure(error)
      return () => undefined
    }
  }

  close(): void {
    this.#isClosed = true
    this.#leaveSegment()
  }

  /** Its pending requests keep the file until they are settled. */
  #leaveSegment(): void {
    if (this.#current?.pending === 0) removeSegment(this.#current)
    else this.#current?.file?.close()
    this.#current = undefined
  }

  #recover(): void {
    const names = readdirSync(this.#directory).filter(each => NAME.test(each))
    for (const name of names.sort()) {
      this.#number = Math.max(this.#number, Number(NAME.exec(name)?.[1]))
      const path = join(this.#directory, name)
      try {
        this.#recoverSegment(path)
      } catch (error) {
        this.#report.warn(`journal: ${path} cannot be read (${codeOf(error)}): its requests are lost. Remove it`)
      }
    }
  }

  #recoverSegment(path: string): void {
    const segment: RequestSegment = { path, pending: 0 }
    const requests = withOwnFile(path, OPEN.read, (descriptor, { size }) => {
      if (size <= MAX_FILE_BYTES) return this.#requestsIn(readFileSync(descriptor), path)
      this.#report.warn(`${path} is too large: it is not read, and removed`)
      return []
    })
    segment.pending = requests.length
    for (const request of requests) this.#recovered.push({ request, settle: this.#createSettle(segment, 0) })
    if (requests.length === 0) removeSegment(segment)
  }

  #requestsIn(content: Buffer, path: string): ReceivedRequest[] {
    const requests: ReceivedRequest[] = []
    for (let offset = 0; offset < content.length; ) {
      const end = content.indexOf(LINE_END, offset)
      const head = end < 0 ? undefined : jsonIn(content.toString('utf8', offset, end))
      const bytes = Math.max(0, numberOf(peek(head, 'bytes')) ?? 0)
      // A receiver killed during a write leaves a truncated request, which it has not answered.
      if (end < 0 || end + 1 + bytes >= content.length) break
      const request = requestOf(head, content.subarray(end + 1, end + 1 + bytes))
      if (request === undefined) {
        this.#report.warn(`${path} is damaged: the requests from byte ${offset} on are lost`)
        break
      }
      requests.push(request)
      offset = end + 1 + request.bytes.length + 1
    }
    return requests
  }

  #createSettle(segment: RequestSegment, count = 1): () => void {
    segment.pending += count
    let isSettled = false
    return () => {
      if (isSettled) return
      isSettled = true
      segment.pending -= 1
      if (segment.pending === 0) this.#releaseSegment(segment)
    }
  }

  #releaseSegment(segment: RequestSegment): void {
    try {
      if (segment === this.#current) segment.file?.clear()
      else removeSegment(segment)
    } catch {
      removeSegment(segment)
      this.#current = undefined
    }
  }

  #usableSegment(): RequestSegment | undefined {
    const { file, pending = 0 } = this.#current ?? {}
    if (file !== undefined && file.bytes < SEGMENT_BYTES && (pending > 0 || file.isUsable())) return this.#current
    if (this.#isClosed || (this.#isFailing && Date.now() < this.#triedAt + RETRY_MILLIS)) return undefined
    this.#triedAt = Date.now()
    this.#leaveSegment()
    const path = join(this.#directory, `requests-${String(++this.#number).padStart(8, '0')}`)
    try {
      rmSync(path, { force: true })
      this.#current = { path, file: SegmentFile.create(path), pending: 0 }
    } catch (error) {
      this.#reportFailure(error)
    }
    return this.#current
  }

  #reportFailure(error: unknown): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const then = 'Recording goes on, but requests in progress would not survive a kill of the receiver'
    this.#report.warn(`journal: requests cannot be written to ${this.#directory} (${codeOf(error)}). ${then}`)
  }
}

interface RequestSegment {
  readonly path: string
  /** Undefined for a file of an earlier receiver. */
  readonly file?: SegmentFile
  pending: number
}

function removeSegment({ path, file }: RequestSegment): void {
  file?.close()
  // If this fails, the next receiver reads the file once more, and recognizes its requests by their ids.
  ignoreErrors(() => rmSync(path, { force: true }))
}

function bytesOf({ path, at, id, headers, bytes }: ReceivedRequest): Buffer {
  const head = `${JSON.stringify({ path, at, id, headers, bytes: bytes.length })}\n`
  const whole = Buffer.allocUnsafe(MAX_UTF8_BYTES * head.length + bytes.length + 1)
  let length = whole.write(head)
  length += bytes.copy(whole, length)
  whole[length++] = LINE_END
  return whole.subarray(0, length)
}

function codeOf(error: unknown): string {
  return ((error ?? {}) as NodeJS.ErrnoException).code ?? 'unknown'
}

function requestOf(head: unknown, bytes: Buffer): ReceivedRequest | undefined {
  const [path, at, id] = [textOf(peek(head, 'path')), numberOf(peek(head, 'at')), textOf(peek(head, 'id'))]
  const headers = peek(head, 'headers')
  if (path === undefined || at === undefined || id === undefined || typeof headers !== 'object') return undefined
  return { path, at, id, headers: (headers ?? {}) as ReceivedRequest['headers'], bytes }
}

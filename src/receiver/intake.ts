import { LimitedMap } from '../agents/base/limited-map.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import type { Counts, Refusal } from './counts.ts'
import type { EventSpool, SpooledEvent } from './event-spool.ts'
import type { Limits } from './limits.ts'
import type { Recorder } from './recorder.ts'
import type { ReceivedRequest, RequestJournal } from './request-journal.ts'
import { SpoolDrain } from './spool-drain.ts'
import { type Endpoint, type InternalEvent, WorkQueue } from './work-queue.ts'

export interface IntakeOptions {
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly recorder: Pick<Recorder, 'take' | 'journalled'>
  readonly requests: RequestJournal
  readonly spool: EventSpool
  readonly limits: Limits
  readonly counts: Counts
  onDelivery(): void
  /** An inlet broke its contract: it threw, or did not finish. */
  onBroken(endpoint: Endpoint, error: unknown): void
  refuse(why: Refusal): void
}

/**
 * Accepts each delivery once, in this order: requests left by an earlier receiver, the spool at start, then new requests. A
 * request stays in the request journal, and a file in the spool, until all its records are in the event journal.
 */
export class Intake {
  readonly #options: IntakeOptions
  readonly #queue: WorkQueue
  readonly #spoolDrain: SpoolDrain
  readonly #seen: LimitedMap<string, true>
  /** Requests received before the first spool scan ends, by path and id. Undefined from then on. */
  #early: Map<unknown, () => void> | undefined = new Map()

  constructor(options: IntakeOptions) {
    this.#options = options
    const { recorder, limits, spool, refuse } = options
    this.#queue = new WorkQueue(recorder, options.onBroken, limits.moreMillis)
    this.#seen = new LimitedMap(limits.deliveries)
    this.#spoolDrain = new SpoolDrain({ spool, refuse, take: (event, done) => this.#takeSpooled(event, done) })
  }

  get isIdle(): boolean {
    return this.#queue.isIdle
  }

  get waiting(): number {
    return this.#queue.waiting + (this.#early?.size ?? 0)
  }

  /**
   * Accepts the requests that an earlier receiver left in the journal. @param deliveriesOf throws if a request cannot be read
   */
  recover(deliveriesOf: (request: ReceivedRequest) => readonly HookDelivery[]): void {
    for (const { request, settle } of this.#options.requests.takeRecovered()) {
      try {
        const deliveries = deliveriesOf(request)
        this.#takeAll(request.path, deliveries, this.#afterwards(settle), (_key, push) => push())
      } catch {
        this.#options.counts.unreadable++
        settle()
      }
    }
  }

  /**
   * The request is in the request journal when this returns.
   *
   * @param done called when nothing of the request is held in memory any more
   */
  take(request: ReceivedRequest, deliveries: readonly HookDelivery[], done: () => void): void {
    const settled = deliveries.length === 0 ? undefined : this.#afterwards(this.#options.requests.add(request))
    const both = (): void => {
      done()
      settled?.()
    }
    this.#takeAll(request.path, deliveries, both, (key, push) => this.#whenReady(key, push))
  }

  remark(remark: InternalEvent): void {
    this.#whenReady(Symbol(), () => this.#queue.push(remark))
  }

  drainSpool(): void {
    void this.#spoolDrain.run().then(() => this.#takeEarly())
  }

  /** Resolves when the recorder has everything accepted so far. The rest of the spool stays there. */
  async workedOff(): Promise<void> {
    await this.#spoolDrain.stop()
    this.#takeEarly()
    await this.#queue.drained()
  }

  #takeAll(
    path: string,
    deliveries: readonly HookDelivery[],
    done: () => void,
    schedule: (key: string | undefined, push: () => void) => void,
  ): void {
    const endpoint = this.#options.endpoints.get(path)
    let waiting = deliveries.length
    if (waiting === 0) done()
    const oneDone = (): void => {
      if (--waiting === 0) done()
    }
    for (const delivery of deliveries) {
      const key = keyOf(path, delivery)
      if (endpoint === undefined || this.#isRepeated(key)) oneDone()
      else {
        this.#count()
        schedule(key, () => this.#queue.push({ endpoint, delivery, done: oneDone }))
      }
    }
  }

  #takeSpooled({ path, delivery }: SpooledEvent, done: () => void): void {
    const endpoint = this.#options.endpoints.get(path)
    const key = keyOf(path, delivery)
    const settled = this.#afterwards(done)
    if (endpoint === undefined) done()
    else if (this.#isRepeated(key)) {
      // Its client also sent it directly and got no answer. It is processed now, not after the whole spool.
      this.#early?.get(key)?.()
      this.#early?.delete(key)
      settled()
    } else {
      this.#count()
      this.#options.counts.spooled++
      this.#queue.push({ endpoint, delivery, done: settled })
    }
  }

  /** Runs the task now, or when the first spool scan has ended. */
  #whenReady(key: unknown, push: () => void): void {
    if (this.#early === undefined) push()
    else this.#early.set(key ?? Symbol(), push)
  }

  #takeEarly(): void {
    for (const push of this.#early?.values() ?? []) push()
    this.#early = undefined
  }

  #count(): void {
    this.#options.counts.deliveries++
    this.#options.onDelivery()
  }

  /** Wraps `settle` to run when everything given to the recorder until then is journalled. */
  #afterwards(settle: () => void): () => void {
    return () => void this.#options.recorder.journalled().then(settle)
  }

  #isRepeated(key: string | undefined): boolean {
    if (key === undefined) return false
    const isRepeated = this.#seen.has(key)
    if (isRepeated) this.#options.counts.duplicates++
    else this.#seen.set(key, true)
    return isRepeated
  }
}

function keyOf(path: string, { id }: HookDelivery): string | undefined {
  return id === undefined ? undefined : `${path} ${id}`
}

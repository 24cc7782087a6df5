import { LimitedMap } from '../agents/base/limited-map.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import type { ReceiverCounts, Refusal } from './counts.ts'
import { type AgentEndpoint, DeliveryQueue, type InternalEvent } from './delivery-queue.ts'
import { type EventSpool, SpoolDrain, type SpooledEvent } from './event-spool.ts'
import type { ReceiverLimits } from './limits.ts'
import type { Recorder } from './recorder.ts'
import type { ReceivedRequest, RequestJournal } from './request-journal.ts'

export interface DeliveryIntakeOptions {
  readonly endpoints: ReadonlyMap<string, AgentEndpoint>
  readonly recorder: Pick<Recorder, 'recordEvent' | 'whenJournalled'>
  readonly requests: RequestJournal
  readonly spool: EventSpool
  readonly limits: ReceiverLimits
  readonly counts: ReceiverCounts
  onDelivery(): void
  onBroken(endpoint: AgentEndpoint, error: unknown): void
  refuse(why: Refusal): void
}

/**
 * Accepts each delivery once, in this order: requests left by an earlier receiver, the spool at start, then new requests. A
 * request stays in the request journal, and a file in the spool, until all its records are in the event journal.
 */
export class DeliveryIntake {
  readonly #options: DeliveryIntakeOptions
  readonly #queue: DeliveryQueue
  readonly #spoolDrain: SpoolDrain
  readonly #seen: LimitedMap<string, true>
  /** Requests received before the first spool scan ends, by path and id. Undefined from then on. */
  #early: Map<unknown, () => void> | undefined = new Map()

  constructor(options: DeliveryIntakeOptions) {
    this.#options = options
    const { recorder, limits, spool, refuse } = options
    this.#queue = new DeliveryQueue(recorder, options.onBroken, limits.moreMillis)
    this.#seen = new LimitedMap(limits.deliveries)
    this.#spoolDrain = new SpoolDrain({ spool, refuse, take: (event, done) => this.#acceptSpooled(event, done) })
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
        this.#acceptAll(request.path, deliveries, this.#whenJournalled(settle), (_key, push) => push())
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
  acceptRequest(request: ReceivedRequest, deliveries: readonly HookDelivery[], done: () => void): void {
    const settled =
      deliveries.length === 0 ? undefined : this.#whenJournalled(this.#options.requests.appendRequest(request))
    const both = (): void => {
      done()
      settled?.()
    }
    this.#acceptAll(request.path, deliveries, both, (key, push) => this.#whenReady(key, push))
  }

  recordEvent(remark: InternalEvent): void {
    this.#whenReady(Symbol(), () => this.#queue.enqueueDelivery(remark))
  }

  drainSpool(): void {
    void this.#spoolDrain.run().then(() => this.#releaseEarly())
  }

  /** Resolves when the recorder has everything accepted so far. The rest of the spool stays there. */
  async whenProcessed(): Promise<void> {
    await this.#spoolDrain.stop()
    this.#releaseEarly()
    await this.#queue.whenIdle()
  }

  #acceptAll(
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
        this.#countDelivery()
        schedule(key, () => this.#queue.enqueueDelivery({ endpoint, delivery, done: oneDone }))
      }
    }
  }

  #acceptSpooled({ path, delivery }: SpooledEvent, done: () => void): void {
    const endpoint = this.#options.endpoints.get(path)
    const key = keyOf(path, delivery)
    const settled = this.#whenJournalled(done)
    if (endpoint === undefined) done()
    else if (this.#isRepeated(key)) {
      // Its client also sent it directly and got no answer. It is processed now, not after the whole spool.
      this.#early?.get(key)?.()
      this.#early?.delete(key)
      settled()
    } else {
      this.#countDelivery()
      this.#options.counts.spooled++
      this.#queue.enqueueDelivery({ endpoint, delivery, done: settled })
    }
  }

  /** Runs the task now, or when the first spool scan has ended. */
  #whenReady(key: unknown, push: () => void): void {
    if (this.#early === undefined) push()
    else this.#early.set(key ?? Symbol(), push)
  }

  #releaseEarly(): void {
    for (const push of this.#early?.values() ?? []) push()
    this.#early = undefined
  }

  #countDelivery(): void {
    this.#options.counts.deliveries++
    this.#options.onDelivery()
  }

  #whenJournalled(settle: () => void): () => void {
    return () => void this.#options.recorder.whenJournalled().then(settle)
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

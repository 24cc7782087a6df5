import type { HostEvent } from '../agents/host-event.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import type { ReceiverEndpoint } from '../agents/receiver-endpoints.ts'
import { kindOf } from '../contract/foreign.ts'
import { inTime } from '../guards/in-time.ts'
import type { EventSpool } from './event-spool.ts'
import type { ReceiverLimits } from './limits.ts'
import { RecentIds } from './recent-ids.ts'
import type { Recorder } from './recorder.ts'
import type { ReceiverCounts } from './refusal.ts'
import type { ReceivedRequest, RequestJournal } from './request-journal.ts'

export interface DeliveryIntakeOptions {
  readonly endpoints: ReadonlyMap<string, ReceiverEndpoint>
  readonly recorder: Pick<Recorder, 'recordEvent' | 'whenJournalled'>
  readonly requests: RequestJournal
  readonly spool: EventSpool
  readonly limits: ReceiverLimits
  readonly counts: ReceiverCounts
  now(): number
  sayOnce(line: string): void
}

/**
 * Accepts each delivery once, in this order: requests left by an earlier receiver, the spool at start, then new requests. A
 * request stays in the request journal, and a file in the spool, until all its records are in the event journal.
 */
export class DeliveryIntake {
  readonly #options: DeliveryIntakeOptions
  readonly #queue: DeliveryQueue
  readonly #seen: RecentIds
  lastDeliveryAt: number
  /** Requests received before the first spool scan ends, by path and id. Undefined from then on. */
  #early: Map<unknown, () => void> | undefined = new Map()

  constructor(options: DeliveryIntakeOptions) {
    this.#options = options
    this.#queue = new DeliveryQueue(options)
    this.#seen = new RecentIds(options.limits.deliveries)
    this.lastDeliveryAt = options.now()
  }

  get isIdle(): boolean {
    return this.#queue.isIdle
  }

  get waiting(): number {
    return this.#queue.waiting + (this.#early?.size ?? 0)
  }

  /** Accepts the requests that an earlier receiver left. @param deliveriesOf throws if a request cannot be read */
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

  /** Returns with the request in the journal. @param done called when nothing of the request is held in memory any more */
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
    const take = this.#acceptSpooled.bind(this)
    void this.#options.spool.drain(take).then(() => this.#releaseEarly())
  }

  /** Resolves when the recorder has everything accepted so far. The rest of the spool stays there. */
  async whenProcessed(): Promise<void> {
    await this.#options.spool.stop()
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

  #acceptSpooled(path: string, delivery: HookDelivery, done: () => void): void {
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
    this.lastDeliveryAt = this.#options.now()
  }

  #whenJournalled(settle: () => void): () => void {
    return () => void this.#options.recorder.whenJournalled().then(settle)
  }

  #isRepeated(key: string | undefined): boolean {
    if (key === undefined || this.#seen.addId(key)) return false
    this.#options.counts.duplicates++
    return true
  }
}

function keyOf(path: string, { id }: HookDelivery): string | undefined {
  return id === undefined ? undefined : `${path} ${id}`
}

export interface QueuedDelivery {
  readonly endpoint: ReceiverEndpoint
  readonly delivery: HookDelivery
  done(): void
}

/** An event that we derive ourselves. It is processed after everything the agent has sent in this lane. */
export interface InternalEvent {
  readonly host: string
  readonly lane: string
  readonly event: HostEvent
}

const SLICE_MILLIS = 5
/** Items removed from a lane at once: removing them one by one would move the rest of the array each time. */
const MAX_AT_ONCE = 100

/**
 * The answered deliveries that are not processed yet, in order for each host. If an adapter reads files of its agent, later
 * deliveries of the same session wait for it, because they may belong to its result. Other sessions do not wait.
 */
class DeliveryQueue {
  readonly #options: DeliveryIntakeOptions
  readonly #lanes = new Map<string, (QueuedDelivery | InternalEvent)[]>()
  #idle: (() => void)[] = []

  constructor(options: DeliveryIntakeOptions) {
    this.#options = options
  }

  enqueueDelivery(work: QueuedDelivery | InternalEvent): void {
    const key = 'lane' in work ? work.lane : laneOf(work.endpoint, work.delivery.body)
    const found = this.#lanes.get(key)
    if (found !== undefined) found.push(work)
    else {
      this.#lanes.set(key, [work])
      void this.#processLane(key)
    }
  }

  get isIdle(): boolean {
    return this.#lanes.size === 0
  }

  get waiting(): number {
    return [...this.#lanes.values()].reduce((sum, { length }) => sum + length, 0)
  }

  whenIdle(): Promise<void> {
    if (this.isIdle) return Promise.resolve()
    return new Promise(resolve => this.#idle.push(resolve))
  }

  async #processLane(key: string): Promise<void> {
    // Sends the answer first.
    await new Promise(setImmediate)
    const lane = this.#lanes.get(key) ?? []
    let until = performance.now() + SLICE_MILLIS
    while (lane.length > 0) {
      for (const work of lane.splice(0, MAX_AT_ONCE)) {
        const more = this.#processDelivery(work)
        if (more !== undefined) await more
        if (performance.now() < until) continue
        await new Promise(setImmediate)
        until = performance.now() + SLICE_MILLIS
      }
    }
    // Must be synchronous with finding the lane empty: the next delivery starts a new run.
    this.#lanes.delete(key)
    if (this.isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Processes synchronously where possible. Returns a promise only if the adapter has more to read. */
  #processDelivery(work: QueuedDelivery | InternalEvent): Promise<void> | undefined {
    if ('lane' in work) {
      this.#options.recorder.recordEvent({ host: work.host, event: work.event })
      return undefined
    }
    const { endpoint, delivery, done } = work
    // By name: after a kill, the next receiver may read more here, but the marker of the end of the read must not count as new.
    const take = (events: readonly HostEvent[], mark: string): void => {
      const counts = new Map<string, number>()
      for (const event of events) {
        const suffix = mark === '' ? '' : mark + event.event
        const count = counts.get(suffix) ?? 0
        counts.set(suffix, count + 1)
        const id = delivery.id === undefined ? undefined : `${delivery.id}${suffix}${count === 0 ? '' : `#${count}`}`
        this.#options.recorder.recordEvent({ host: endpoint.host, event, id })
      }
    }
    try {
      const events = endpoint.adapter.events(delivery)
      take(events, '')
      if (endpoint.adapter.enrich === undefined || events.length === 0) {
        done()
        return undefined
      }
      return this.#readMore(endpoint, events, take).finally(done)
    } catch (error) {
      this.#reportUnreadable(endpoint, error)
      done()
      return undefined
    }
  }

  async #readMore(
    endpoint: ReceiverEndpoint,
    events: readonly HostEvent[],
    take: (events: readonly HostEvent[], mark: string) => void,
  ): Promise<void> {
    for (const [index, event] of events.entries()) {
      try {
        const reading = endpoint.adapter.enrich?.(event) ?? Promise.resolve([])
        const more = await inTime(reading, this.#options.limits.moreMillis)
        if (typeof more === 'symbol') throw new Error('it takes too long')
        take(more, `+${index}:`)
      } catch (error) {
        this.#reportUnreadable(endpoint, error)
      }
    }
  }

  /** Reported once per endpoint. The error message is left out because it could quote a user. */
  #reportUnreadable({ host }: ReceiverEndpoint, error: unknown): void {
    this.#options.counts.unreadable++
    this.#options.sayOnce(`${host}: an event could not be read (${kindOf(error)}); the trace lacks it`)
  }
}

/** One lane per session if the adapter reads files. Agents name the session id by one of these keys. */
export function laneOf({ host, adapter }: ReceiverEndpoint, body: unknown): string {
  if (adapter.enrich === undefined || typeof body !== 'object' || body === null) return host
  const { session_id, sessionId, conversation_id } = body as Record<string, unknown>
  return `${host} ${session_id ?? sessionId ?? conversation_id ?? ''}`
}

/** An agent that lost none is absent. */
export function lostHooksByAgent(endpoints: Iterable<ReceiverEndpoint>): Readonly<Record<string, number>> {
  const lost: Record<string, number> = {}
  for (const { host, adapter } of endpoints) {
    const { lostHooks = 0 } = adapter
    if (lostHooks > 0) lost[host] = (lost[host] ?? 0) + lostHooks
  }
  return lost
}

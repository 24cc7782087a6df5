import type { HostEvent } from '../agents/host-event.ts'
import type { HookDelivery, ReceiverAdapter } from '../agents/receiver-adapter.ts'
import { inTime } from '../guards/in-time.ts'
import type { Recorder } from './recorder.ts'

export interface AgentEndpoint {
  readonly host: string
  readonly adapter: ReceiverAdapter
  readonly services?: readonly string[]
}

export interface QueuedDelivery {
  readonly endpoint: AgentEndpoint
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
export class DeliveryQueue {
  readonly #recorder: Pick<Recorder, 'recordEvent'>
  readonly #onBroken: (endpoint: AgentEndpoint, error: unknown) => void
  readonly #patienceMillis: number
  readonly #lanes = new Map<string, (QueuedDelivery | InternalEvent)[]>()
  #idle: (() => void)[] = []

  constructor(
    recorder: Pick<Recorder, 'recordEvent'>,
    broke: (endpoint: AgentEndpoint, error: unknown) => void,
    patienceMillis: number,
  ) {
    this.#recorder = recorder
    this.#onBroken = broke
    this.#patienceMillis = patienceMillis
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
    await nextTurn()
    const lane = this.#lanes.get(key) ?? []
    let until = performance.now() + SLICE_MILLIS
    while (lane.length > 0) {
      for (const work of lane.splice(0, MAX_AT_ONCE)) {
        const more = this.#processDelivery(work)
        if (more !== undefined) await more
        if (performance.now() < until) continue
        await nextTurn()
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
      this.#recorder.recordEvent({ host: work.host, event: work.event })
      return undefined
    }
    const { endpoint, delivery, done } = work
    const take = (events: readonly HostEvent[], mark: string): void => {
      for (const [index, event] of events.entries()) {
        const id = delivery.id === undefined ? undefined : `${delivery.id}${mark}${index === 0 ? '' : `#${index}`}`
        this.#recorder.recordEvent({ host: endpoint.host, event, id })
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
      this.#onBroken(endpoint, error)
      done()
      return undefined
    }
  }

  async #readMore(
    endpoint: AgentEndpoint,
    events: readonly HostEvent[],
    take: (events: readonly HostEvent[], mark: string) => void,
  ): Promise<void> {
    for (const [index, event] of events.entries()) {
      try {
        const more = await inTime(endpoint.adapter.enrich?.(event) ?? Promise.resolve([]), this.#patienceMillis)
        if (typeof more === 'symbol') throw new Error('it takes too long')
        take(more, `+${index}`)
      } catch (error) {
        this.#onBroken(endpoint, error)
      }
    }
  }
}

/** One lane per session if the adapter reads files. Agents name the session id by one of these keys. */
export function laneOf({ host, adapter }: AgentEndpoint, body: unknown): string {
  if (adapter.enrich === undefined || typeof body !== 'object' || body === null) return host
  const { session_id, sessionId, conversation_id } = body as Record<string, unknown>
  return `${host} ${session_id ?? sessionId ?? conversation_id ?? ''}`
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

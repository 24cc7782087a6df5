import type { HostEvent } from '../hosts/host-event.ts'
import type { Delivery, Inlet } from '../hosts/inlet.ts'
import type { Recorder } from './recorder.ts'

/** What an endpoint takes. */
export interface Endpoint {
  readonly host: string
  readonly inlet: Inlet
  /** As in `INLETS`. */
  readonly services?: readonly string[]
}

export interface Work {
  readonly endpoint: Endpoint
  readonly delivery: Delivery
  /** Called when nothing of it is held any more. */
  done(): void
}

/** What we know of an agent by ourselves: it comes behind all that the agent has told in this lane. */
export interface Remark {
  readonly host: string
  readonly lane: string
  readonly event: HostEvent
}

/** A slice holds the process for so long, and lets others have their turn. */
const SLICE_MILLIS = 5
/** Taken out of a lane together: to take out one by one moves all that stand behind. */
const MOST_AT_ONCE = 100

/**
 * What was answered and not worked off yet: each host's in the order in which it came. An inlet that looks into files of its
 * agent holds up what comes behind it in the same session, because that may belong to what it finds; nothing else.
 */
export class WorkQueue {
  readonly #recorder: Pick<Recorder, 'take'>
  readonly #broke: (endpoint: Endpoint, error: unknown) => void
  readonly #patienceMillis: number
  /** Those that have something to do. */
  readonly #lanes = new Map<string, (Work | Remark)[]>()
  #idle: (() => void)[] = []

  /** @param broke is told when an inlet, against its contract, throws or does not come to an end */
  constructor(
    recorder: Pick<Recorder, 'take'>,
    broke: (endpoint: Endpoint, error: unknown) => void,
    patienceMillis: number,
  ) {
    this.#recorder = recorder
    this.#broke = broke
    this.#patienceMillis = patienceMillis
  }

  push(work: Work | Remark): void {
    const key = 'lane' in work ? work.lane : laneOf(work.endpoint, work.delivery.body)
    const found = this.#lanes.get(key)
    if (found !== undefined) found.push(work)
    else {
      this.#lanes.set(key, [work])
      void this.#run(key)
    }
  }

  get isIdle(): boolean {
    return this.#lanes.size === 0
  }

  get waiting(): number {
    return [...this.#lanes.values()].reduce((sum, { length }) => sum + length, 0)
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> {
    if (this.isIdle) return Promise.resolve()
    return new Promise(resolve => this.#idle.push(resolve))
  }

  async #run(key: string): Promise<void> {
    // Behind what was answered.
    await nextTurn()
    const lane = this.#lanes.get(key) ?? []
    let until = performance.now() + SLICE_MILLIS
    while (lane.length > 0) {
      for (const work of lane.splice(0, MOST_AT_ONCE)) {
        const more = this.#workOff(work)
        if (more !== undefined) await more
        if (performance.now() < until) continue
        await nextTurn()
        until = performance.now() + SLICE_MILLIS
      }
    }
    // In the same moment in which it was found empty: what comes next begins a new one.
    this.#lanes.delete(key)
    if (this.isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** What is there at once is taken at once; a promise only where there is something to wait for. */
  #workOff(work: Work | Remark): Promise<void> | undefined {
    if ('lane' in work) {
      this.#recorder.take({ host: work.host, event: work.event })
      return undefined
    }
    const { endpoint, delivery, done } = work
    const take = (events: readonly HostEvent[], mark: string): void => {
      for (const [index, event] of events.entries()) {
        const id = delivery.id === undefined ? undefined : `${delivery.id}${mark}${index === 0 ? '' : `#${index}`}`
        this.#recorder.take({ host: endpoint.host, event, id })
      }
    }
    try {
      const events = endpoint.inlet.events(delivery)
      take(events, '')
      if (endpoint.inlet.more === undefined || events.length === 0) {
        done()
        return undefined
      }
      return this.#more(endpoint, events, take).finally(done)
    } catch (error) {
      this.#broke(endpoint, error)
      done()
      return undefined
    }
  }

  async #more(
    endpoint: Endpoint,
    events: readonly HostEvent[],
    take: (events: readonly HostEvent[], mark: string) => void,
  ): Promise<void> {
    for (const [index, event] of events.entries()) {
      try {
        take(await this.#inTime(endpoint.inlet.more?.(event) ?? Promise.resolve([])), `+${index}`)
      } catch (error) {
        this.#broke(endpoint, error)
      }
    }
  }

  async #inTime<Result>(promise: Promise<Result>): Promise<Result> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('it takes too long')), this.#patienceMillis)
    })
    try {
      return await Promise.race([promise, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** A session has its own where the inlet looks into files; agents call it by one of these names. */
export function laneOf({ host, inlet }: Endpoint, body: unknown): string {
  if (inlet.more === undefined || typeof body !== 'object' || body === null) return host
  const { session_id, sessionId, conversation_id } = body as Record<string, unknown>
  return `${host} ${session_id ?? sessionId ?? conversation_id ?? ''}`
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

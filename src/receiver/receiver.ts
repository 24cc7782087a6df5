import type { HookReply } from '../agents/guard-protocol.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import { peek, textOf } from '../contract/foreign.ts'
import { type Address, allowStart, removeAddress, writeAddress } from './address.ts'
import { Answering, type Behind } from './answering.ts'
import { Counts, lostHooksByAgent, type Refusal } from './counts.ts'
import type { Decider, Failing } from './decider.ts'
import { aboutRefused, EventSpool } from './event-spool.ts'
import { Intake } from './intake.ts'
import type { Listening } from './listening.ts'
import type { Health } from './peer.ts'
import type { ReceiverParts } from './receiver-parts.ts'
import type { ReceivedRequest } from './request-journal.ts'
import { keepUp } from './upkeep.ts'
import { isNewer } from './version.ts'
import { type Endpoint, type InternalEvent, laneOf } from './work-queue.ts'

/** Interval of the receiver's periodic check. It also finds spool files that the file system did not report. */
const LOOK_MILLIS = 30_000

/**
 * - `taking`: events are passed to the recorder.
 * - `laying-by`: another receiver is taking over. Events are spooled for it.
 * - `leaving`: the listeners are closed, and the backlog is processed.
 */
type State = 'taking' | 'laying-by' | 'leaving'

/** The single receiver of a user, from acquiring the lock until everything is released. */
export class Receiver implements Behind {
  readonly counts: Counts = new Counts()
  readonly answering: Answering
  readonly closed: Promise<void>
  readonly #parts: ReceiverParts
  readonly #spool: EventSpool
  readonly #intake: Intake
  readonly #stopLooking: (() => void)[] = []
  readonly #startedAt: number
  readonly #decider: Decider | undefined
  #state: State = 'taking'
  #listening: Listening | undefined
  #lastAt: number
  #resolve: () => void = () => undefined

  constructor(parts: ReceiverParts) {
    this.#parts = parts
    const { limits, token, version, clock, place } = parts
    this.closed = new Promise(resolve => {
      this.#resolve = resolve
    })
    this.#startedAt = clock.now()
    this.#lastAt = this.#startedAt
    this.#decider = parts.deciderFor?.({
      remark: remark => this.#remark(remark),
      traceparent: (host, ids) => parts.recorder.traceparent(host, ids),
    })
    this.#spool = new EventSpool(place.spool, limits.bodyBytes, path => this.isEndpoint(path))
    const { endpoints, recorder, requests } = parts
    this.#intake = new Intake({
      ...{ endpoints, recorder, requests, limits, spool: this.#spool, counts: this.counts },
      onDelivery: () => {
        this.#lastAt = clock.now()
      },
      onBroken: (endpoint, error) => this.#broke(endpoint, error),
      refuse: why => this.#refuse(why),
    })
    this.answering = new Answering({ token, version, limits, counts: this.counts, behind: this, now: clock.now })
  }

  /** Starts processing requests. Spooled events come first. */
  start(listening: Listening): void {
    this.#listening = listening
    writeAddress(this.#parts.place, this.address)
    const { clock, idleMillis, say } = this.#parts
    this.#spool.clear(clock.now())
    this.#intake.recover(request => this.answering.deliveriesIn(request))
    this.#drain()
    const watcher = this.#spool.watch(() => this.#drain())
    if (watcher === undefined) say(`files of ${this.#parts.place.spool} are found twice a minute only`)
    else this.#stopLooking.push(() => watcher.close())
    this.#stopLooking.push(clock.every(Math.min(LOOK_MILLIS, (idleMillis ?? Infinity) / 2), () => this.#look()))
  }

  get address(): Address {
    const { version, isAllWanted } = this.#parts
    const { socket = null, port = null } = this.#listening ?? {}
    const wanted = isAllWanted ? { content_capture: 'full' as const } : {}
    return { pid: process.pid, startedAt: this.#startedAt, version, socket, port, ...wanted }
  }

  isEndpoint(path: string): boolean {
    return this.#parts.endpoints.has(path)
  }

  servicesOf(path: string): readonly string[] | undefined {
    return this.#parts.endpoints.get(path)?.services
  }

  secretOf(path: string): string | undefined {
    return this.#parts.secretOf(path)
  }

  take(request: ReceivedRequest, deliveries: readonly HookDelivery[], done: () => void): boolean {
    if (this.#state === 'laying-by') return this.#layBy(request.path, deliveries, done)
    this.#intake.take(request, deliveries, done)
    return true
  }

  decide(path: string, body: unknown, failing: Failing | undefined): Promise<HookReply | undefined> | undefined {
    const endpoint = this.#parts.endpoints.get(path)
    if (endpoint === undefined) return undefined
    const host = endpoint.host === '' ? (textOf(peek(body, 'host')) ?? '') : endpoint.host
    return this.#decider?.decide({ host, told: endpoint.host, lane: laneOf(endpoint, body), body, failing })
  }

  ask(path: string, body: unknown): Promise<object | undefined> | undefined {
    if (path === '/healthz') return Promise.resolve(this.health())
    if (path === '/v1/replace') return this.#handOver((body as { version?: unknown } | undefined)?.version)
    if (path === '/v1/leave') return this.#leave()
    if (path !== '/v1/stop') return undefined
    void this.stop()
    return Promise.resolve({})
  }

  health(): Health {
    const { version, recorder, lines } = this.#parts
    return {
      version,
      pid: process.pid,
      startedAt: this.#startedAt,
      openTurns: recorder.openTurns,
      waiting: this.#intake.waiting,
      counts: this.counts.toJSON() as Health['counts'],
      lostHooks: lostHooksByAgent(this.#parts.endpoints.values()),
      recorder: recorder.stats(),
      lines: lines.slice(-20),
    }
  }

  /** Processes the backlog and ends. Open spans stay open for the next receiver. */
  async stop(): Promise<void> {
    if (this.#state === 'laying-by') await this.#leave()
    if (this.#state === 'taking') await this.#end()
    return this.closed
  }

  async #end(): Promise<void> {
    this.#state = 'leaving'
    const { place, lock, recorder, requests } = this.#parts
    try {
      // Must come before closing: an event that finds no receiver starts the next one, which waits for this lock.
      allowStart(place)
      await this.#shut()
      await this.#listening?.ended()
      await this.#workedOff()
      await recorder.close(recorder.openTurns > 0 ? 'handover' : 'end')
      requests.close()
      lock.release()
    } catch (error) {
      this.#parts.say(`the receiver did not end in order: ${(error as Error).message}`)
    }
    this.#resolve()
  }

  /** During a handover, decisions are not recorded. The hooks decide all the same. */
  #remark(remark: InternalEvent): void {
    if (this.#state !== 'laying-by') this.#intake.remark(remark)
  }

  #layBy(path: string, deliveries: readonly HookDelivery[], done: () => void): boolean {
    try {
      for (const delivery of deliveries) if (!this.#spool.put(path, delivery)) return false
    } catch {
      return false
    }
    done()
    return true
  }

  /** Reported once per endpoint. The error message is left out because it could quote a user. */
  #broke({ host }: Endpoint, error: unknown): void {
    this.counts.unreadable++
    const line = `${host}: what it sent could not be read (${error instanceof Error ? error.name : typeof error}); the trace lacks it`
    if (!this.#parts.lines.includes(line)) this.#parts.say(line)
  }

  #look(): void {
    const { place, lock, clock, idleMillis, recorder, say } = this.#parts
    const address = (): Address | undefined => (this.#state === 'taking' ? this.address : undefined)
    if (!keepUp(place, lock, this.#listening, address)) {
      say(`${place.directory} is gone, or another's: this receiver ends`)
      void this.stop()
      return
    }
    this.#drain()
    const isIdle = this.#intake.isIdle && recorder.openTurns === 0
    if (idleMillis !== undefined && isIdle && clock.now() - this.#lastAt >= idleMillis) void this.stop()
  }

  #drain(): void {
    const dropped = this.#spool.takeDropped()
    this.counts.dropped += dropped
    if (dropped > 0) this.#parts.say(`${dropped} events were lost: no receiver ran, and the spool was full`)
    this.#intake.drainSpool()
  }

  /** Reported once. The user has to look at the files. */
  #refuse(why: Refusal): void {
    this.counts.refuse(why)
    const { place, lines, say } = this.#parts
    const line = aboutRefused(why, place.spool)
    if (!lines.includes(line)) say(line)
  }

  /** Hands over to a newer receiver: it inherits open spans by the journal and later events by the spool. */
  async #handOver(version: unknown): Promise<object | undefined> {
    const { recorder, requests, lock, limits } = this.#parts
    if (this.#state !== 'taking' || typeof version !== 'string' || !isNewer(version, this.#parts.version))
      return undefined
    this.#state = 'laying-by'
    await this.#workedOff()
    await recorder.close('handover')
    requests.close()
    lock.release()
    // A fallback in case the newer receiver dies before it asks.
    const timer = setTimeout(() => void this.#leave(), limits.startMillis)
    void this.closed.then(() => clearTimeout(timer))
    return {}
  }

  async #leave(): Promise<object | undefined> {
    if (this.#state !== 'laying-by' || this.answering.isLeaving) return undefined
    await this.#shut()
    void this.#listening?.ended().then(this.#resolve)
    return {}
  }

  async #shut(): Promise<void> {
    this.answering.isLeaving = true
    removeAddress(this.#parts.place, process.pid)
    await this.#listening?.shut()
  }

  async #workedOff(): Promise<void> {
    for (const stop of this.#stopLooking.splice(0)) stop()
    await this.#intake.workedOff()
  }
}

import { rmSync } from 'node:fs'
import type { HookReply } from '../agents/guard-protocol.ts'
import type { HookDelivery } from '../agents/receiver-adapter.ts'
import type { ReceiverEndpoint } from '../agents/receiver-endpoints.ts'
import { ignoreErrors, peek, textOf } from '../contract/foreign.ts'
import type { Lock } from '../delivery/trace-log/index.ts'
import { DeliveryIntake, type InternalEvent, laneOf, lostHooksByAgent } from './deliveries.ts'
import { EventSpool } from './event-spool.ts'
import type { DecisionTrace, FailurePolicy, HookDecisions } from './hook-decisions.ts'
import type { ReceiverLimits } from './limits.ts'
import type { ReceiverListeners } from './listeners.ts'
import type { Address, ReceiverFiles } from './receiver-files.ts'
import { readAddress, removeAddress, writeAddress } from './receiver-files.ts'
import type { Recorder } from './recorder.ts'
import { ReceiverCounts } from './refusal.ts'
import { type ReceiverRoutes, RequestHandler } from './request-handler.ts'
import type { ReceivedRequest, RequestJournal } from './request-journal.ts'
import { type Health, isNewer } from './running-receiver.ts'

/** Interval of the receiver's periodic check. It also finds spool files that the file system did not report. */
const CHECK_MILLIS = 30_000

/**
 * - `receiving`: events are passed to the recorder.
 * - `handing-over`: another receiver is taking over. Events are spooled for it.
 * - `closing`: the listeners are closed, and the backlog is processed.
 */
type ReceiverState = 'receiving' | 'handing-over' | 'closing'

export class ReceiverServer implements ReceiverRoutes {
  readonly counts: ReceiverCounts = new ReceiverCounts()
  readonly requests: RequestHandler
  readonly closed: Promise<void>
  readonly #options: ReceiverOptions
  readonly #spool: EventSpool
  readonly #intake: DeliveryIntake
  readonly #stopWatching: (() => void)[] = []
  readonly #startedAt: number
  readonly #decider: HookDecisions | undefined
  #state: ReceiverState = 'receiving'
  #listeners: ReceiverListeners | undefined
  #resolve: () => void = () => undefined

  constructor(parts: ReceiverOptions) {
    this.#options = parts
    const { limits, clock, place, endpoints, recorder, requests, say, sayOnce } = parts
    const { counts } = this
    this.closed = new Promise(resolve => {
      this.#resolve = resolve
    })
    this.#startedAt = clock.now()
    this.#decider = parts.deciderFor?.({
      recordEvent: remark => this.#recordDecision(remark),
      traceparent: (host, ids) => parts.recorder.traceparent(host, ids),
    })
    const isEndpoint = (path: string): boolean => endpoints.has(path)
    const files = { directory: place.spool, maxBytes: limits.bodyBytes, isEndpoint }
    this.#spool = new EventSpool({ ...files, counts, say, sayOnce })
    const intake = { endpoints, recorder, requests, limits, spool: this.#spool, counts, now: clock.now, sayOnce }
    this.#intake = new DeliveryIntake(intake)
    this.requests = new RequestHandler({ ...parts, counts, routes: this, now: clock.now })
  }

  start(listening: ReceiverListeners): void {
    this.#listeners = listening
    writeAddress(this.#options.place, this.address)
    const { clock, idleMillis, say } = this.#options
    this.#spool.removeUnfinished(clock.now())
    this.#intake.recover(request => this.requests.deliveriesIn(request))
    this.#intake.drainSpool()
    const watcher = this.#spool.watch(() => this.#intake.drainSpool())
    if (watcher === undefined) say(`files of ${this.#options.place.spool} are found twice a minute only`)
    else this.#stopWatching.push(() => watcher.close())
    this.#stopWatching.push(
      clock.every(Math.min(CHECK_MILLIS, (idleMillis ?? Infinity) / 2), () => this.#checkPeriodically()),
    )
  }

  get address(): Address {
    const { version, isAllWanted } = this.#options
    const { socket = null, port = null } = this.#listeners ?? {}
    const wanted = isAllWanted ? { content_capture: 'full' as const } : {}
    return { pid: process.pid, startedAt: this.#startedAt, version, socket, port, ...wanted }
  }

  acceptRequest(request: ReceivedRequest, deliveries: readonly HookDelivery[], done: () => void): boolean {
    if (this.#state === 'handing-over') return this.#spoolDeliveries(request.path, deliveries, done)
    this.#intake.acceptRequest(request, deliveries, done)
    return true
  }

  decide(path: string, body: unknown, failing: FailurePolicy | undefined): Promise<HookReply | undefined> | undefined {
    const endpoint = this.#options.endpoints.get(path)
    if (endpoint === undefined) return undefined
    const host = endpoint.host === '' ? (textOf(peek(body, 'host')) ?? '') : endpoint.host
    return this.#decider?.decide({ host, recordedHost: endpoint.host, lane: laneOf(endpoint, body), body, failing })
  }

  runCommand(path: string, body: unknown): Promise<object | undefined> | undefined {
    if (path === '/healthz') return Promise.resolve(this.health())
    if (path === '/v1/replace') return this.#handOver((body as { version?: unknown } | undefined)?.version)
    if (path === '/v1/leave') return this.#closeAfterHandOver()
    if (path !== '/v1/stop') return undefined
    void this.stop()
    return Promise.resolve({})
  }

  health(): Health {
    const { version, recorder, lines } = this.#options
    return {
      version,
      pid: process.pid,
      startedAt: this.#startedAt,
      openTurns: recorder.openTurns,
      waiting: this.#intake.waiting,
      counts: { ...this.counts },
      lostHooks: lostHooksByAgent(this.#options.endpoints.values()),
      recorder: recorder.stats(),
      lines: lines.slice(-20),
    }
  }

  /** Processes the backlog and ends. Open spans stay open for the next receiver. */
  async stop(): Promise<void> {
    if (this.#state === 'handing-over') await this.#closeAfterHandOver()
    if (this.#state === 'receiving') await this.#end()
    return this.closed
  }

  /**
   * Removes `starting` before closing, so that the next event starts a receiver at once: clients otherwise wait some seconds
   * after a start. An event that finds no receiver starts the next one, which waits for this lock.
   */
  async #end(): Promise<void> {
    this.#state = 'closing'
    const { place, lock, recorder, requests } = this.#options
    try {
      rmSync(place.starting, { force: true })
      await this.#closeListeners()
      await this.#listeners?.whenEnded()
      await this.#processBacklog()
      await recorder.close(recorder.openTurns > 0 ? 'handover' : 'end')
      requests.close()
      lock.release()
    } catch (error) {
      this.#options.say(`the receiver did not shut down cleanly: ${(error as Error).message}`)
    }
    this.#resolve()
  }

  /** During a handover, decisions are not recorded. The hooks decide all the same. */
  #recordDecision(remark: InternalEvent): void {
    if (this.#state !== 'handing-over') this.#intake.recordEvent(remark)
  }

  #spoolDeliveries(path: string, deliveries: readonly HookDelivery[], done: () => void): boolean {
    const isSpooled = ignoreErrors(() => deliveries.every(delivery => this.#spool.spoolEvent(path, delivery))) === true
    if (isSpooled) done()
    return isSpooled
  }

  #checkPeriodically(): void {
    const { place, clock, idleMillis, recorder, say } = this.#options
    if (!this.#checkFiles()) {
      say(`${place.directory} is gone, or belongs to another receiver: this one exits`)
      void this.stop()
      return
    }
    this.#intake.drainSpool()
    const isIdle = this.#intake.isIdle && recorder.openTurns === 0
    if (idleMillis !== undefined && isIdle && clock.now() - this.#intake.lastDeliveryAt >= idleMillis) void this.stop()
  }

  /** The user or the system may have removed them. Returns false if the directory belongs to another receiver now. */
  #checkFiles(): boolean {
    try {
      this.#options.lock.touch()
    } catch {
      return false
    }
    void this.#listeners?.restoreSocket().then(() => this.#restoreAddress())
    return true
  }

  #restoreAddress(): void {
    const { place } = this.#options
    const [written, address] = [readAddress(place), this.address]
    const isWritten = written?.pid === address.pid && written.socket === address.socket
    // If this fails, the next check tries again.
    if (this.#state === 'receiving' && !isWritten) ignoreErrors(() => writeAddress(place, address))
  }

  /** Hands over to a newer receiver: it inherits open spans by the journal and later events by the spool. */
  async #handOver(version: unknown): Promise<object | undefined> {
    const { recorder, requests, lock, limits } = this.#options
    if (this.#state !== 'receiving' || typeof version !== 'string' || !isNewer(version, this.#options.version))
      return undefined
    this.#state = 'handing-over'
    await this.#processBacklog()
    await recorder.close('handover')
    requests.close()
    lock.release()
    // A fallback in case the newer receiver dies before it asks.
    const timer = setTimeout(() => void this.#closeAfterHandOver(), limits.startMillis)
    void this.closed.then(() => clearTimeout(timer))
    return {}
  }

  async #closeAfterHandOver(): Promise<object | undefined> {
    if (this.#state !== 'handing-over' || this.requests.isClosing) return undefined
    await this.#closeListeners()
    void this.#listeners?.whenEnded().then(this.#resolve)
    return {}
  }

  async #closeListeners(): Promise<void> {
    this.requests.isClosing = true
    removeAddress(this.#options.place, process.pid)
    await this.#listeners?.close()
  }

  async #processBacklog(): Promise<void> {
    for (const stop of this.#stopWatching.splice(0)) stop()
    await this.#intake.whenProcessed()
  }
}

export interface ReceiverOptions {
  readonly place: ReceiverFiles
  readonly token: string
  readonly version: string
  readonly lock: Lock
  readonly recorder: Recorder
  readonly requests: RequestJournal
  readonly endpoints: ReadonlyMap<string, ReceiverEndpoint>
  readonly limits: ReceiverLimits
  readonly clock: Clock
  readonly deciderFor?: ((trace: DecisionTrace) => HookDecisions) | undefined
  readonly idleMillis: number | undefined
  readonly isAllWanted: boolean
  /** The lines reported to the user so far. `say` appends. */
  readonly lines: readonly string[]
  say(line: string): void
  sayOnce(line: string): void
  secretOf(path: string): string | undefined
}

export interface Clock {
  now(): number
  /** Calls the task periodically. Does not keep the process alive. @returns a function that stops it */
  every(millis: number, task: () => void): () => void
}

export const SYSTEM_CLOCK: Clock = {
  now: Date.now,
  every: (millis, task) => {
    const timer = setInterval(task, millis).unref()
    return () => clearInterval(timer)
  },
}

import { idOf, peek } from '../contract/foreign.ts'
import type { Traced } from '../hooks/hook-trace.ts'
import { createPlugin, type Plugin, type PluginOptions } from '../index.ts'
import { writeTo } from '../terminal/write-to.ts'
import type { HostEvent, HostMachine } from './host-event.ts'
import { Telling } from './telling.ts'

/** Where all copies of us in a process find what is running: hosts load a plugin several times, from several places. */
const RUNNING = Symbol.for('hookspan.hosts')
/** Scopes whose newest attachment is remembered. */
const SCOPES_LIMIT = 2000

type LineSink = (line: string) => void

/** Lines for the person, as a logger gets them, kept until it is known where this host shows them. */
class Lines {
  #sink: LineSink | undefined
  #held: string[] = []

  readonly say: LineSink = line => {
    if (this.#sink === undefined) this.#held.push(line)
    else this.#sink(line)
  }

  sendTo(sink: LineSink): void {
    this.#sink = sink
    for (const line of this.#held.splice(0)) sink(line)
  }

  /** It is not known yet where to. */
  get isHeld(): boolean {
    return this.#sink === undefined
  }

  /** Nobody has said where to. */
  release(): void {
    if (this.#sink === undefined) this.sendTo(line => writeTo(process.stderr, `${line}\n`))
  }
}

interface Shared {
  [RUNNING]?: Map<string, RunningHost>
}

/** One attachment of a host to us. Nothing in here throws, and nothing is waited for. */
export interface Attachment {
  readonly plugin: Plugin
  /**
   * Takes one event of the host.
   *
   * @param scope what the event is about, usually its session. A host that has loaded us twice tells everything about it
   * twice; then the newest attachment is listened to, and the others are not.
   */
  take(event: HostEvent, scope?: string): void
  /**
   * Where the lines for the person go from now on, those that were said before the first event among them: a host that draws
   * on the terminal has a better place than stderr.
   */
  reportTo(report: LineSink): void
  /** Runs one of our callbacks in a host in which an exception would cost a tool or the run. */
  guard<Result>(run: () => Result): Result | undefined
}

class RunningHost {
  readonly plugin: Plugin
  readonly #telling: Telling
  readonly #newest = new Map<string, number>()
  readonly #lines = new Lines()
  #attachments = 0
  #isOver = false

  constructor(host: string, machine: HostMachine, options: PluginOptions) {
    this.plugin = createPlugin({ host, logger: { error: this.#lines.say, warn: this.#lines.say }, ...options })
    this.#telling = new Telling(host, machine, this.plugin, this.#lines.say)
    const finish = (): void => this.#finish()
    // Before the plugin's own listeners, after which it takes nothing more.
    process.prependOnceListener('beforeExit', finish)
    process.prependOnceListener('exit', finish)
  }

  attach(): Attachment {
    const number = ++this.#attachments
    return {
      plugin: this.plugin,
      take: (event, scope = '') => {
        if (this.#telling.isForNobody(event.event) || !this.#isNewest(number, scope)) return
        if (this.#lines.isHeld) this.#guarded('its place for messages', () => this.#lines.release())
        this.#telling.take(event)
      },
      reportTo: report => {
        this.#guarded('its place for messages', () => this.#lines.sendTo(report))
      },
      guard: run => this.#guarded('a callback', run),
    }
  }

  /** The process ends. */
  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#telling.end(Date.now())
  }

  /** An event that an attachment will hear of, too. */
  tell(event: HostEvent): void {
    if (!this.#telling.isForNobody(event.event)) this.#telling.take(event)
  }

  #isNewest(number: number, scope: string): boolean {
    const newest = this.#newest.get(scope) ?? 0
    if (newest > number) return false
    if (newest < number) this.#remember(scope, number)
    return true
  }

  #remember(scope: string, number: number): void {
    this.#newest.delete(scope)
    this.#newest.set(scope, number)
    const [oldest] = this.#newest.keys()
    if (this.#newest.size > SCOPES_LIMIT && oldest !== undefined) this.#newest.delete(oldest)
  }

  #guarded<Result>(what: string, run: () => Result): Result | undefined {
    try {
      return run()
    } catch (error) {
      this.#telling.broke(what, error)
      return undefined
    }
  }
}

/**
 * Attaches us to a host. The first call in a process starts the plugin; later ones, also of other copies of this package,
 * share it, and their options are not looked at.
 */
export function attachHost(host: string, createMachine: () => HostMachine, options: PluginOptions = {}): Attachment {
  const shared = globalThis as Shared
  shared[RUNNING] ??= new Map()
  const running = shared[RUNNING]
  let found = running.get(host)
  if (found === undefined) {
    found = new RunningHost(host, createMachine(), options)
    running.set(host, found)
  }
  return found.attach()
}

/** The plugin that traces a host in this process, if there is one by now. */
export function runningPlugin(host: string): Plugin | undefined {
  return (globalThis as Shared)[RUNNING]?.get(host)?.plugin
}

/**
 * The trace of control hooks in an agent that runs them before it reports the start of a tool: what they say of a tool call goes
 * through the events of the agent, whose adapter puts it below the tool.
 */
export function toolHookTrace(host: string): Traced | undefined {
  const running = (globalThis as Shared)[RUNNING]?.get(host)
  if (running === undefined) return undefined
  return {
    emitUntyped: (hook, payload, meta) => {
      if (idOf(peek(payload, 'tool_call_id')) === undefined) return running.plugin.emitUntyped(hook, payload, meta)
      return running.tell({ event: hook, ...meta, data: payload })
    },
    traceparent: ids => running.plugin.traceparent(ids),
  }
}

/**
 * Tells the trace of a host what it is about to hear by itself, where what is told next belongs to that. Only what may be told twice.
 */
export function tellRunning(host: string, event: HostEvent): void {
  ;(globalThis as Shared)[RUNNING]?.get(host)?.tell(event)
}

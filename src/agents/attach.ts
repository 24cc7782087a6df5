import { idOf, peek } from '../contract/foreign.ts'
import { writeTo } from '../delivery/terminal.ts'
import type { TracedPlugin } from '../guards/host-hooks.ts'
import type { HostHooksOptions } from '../guards/index.ts'
import { createPlugin, type Plugin, type PluginOptions } from '../index.ts'
import { LimitedMap } from './base/limited-map.ts'
import type { HostEvent, HostMachine } from './host-event.ts'
import { HostForwarder } from './host-forwarder.ts'

/**
 * Shares the running hosts between all copies of this package in a process: hosts load a plugin several times, from several
 * places.
 */
const RUNNING = Symbol.for('hookspan.hosts')

/** Options of `attachHooks`: the time limit of the hooks, and the receiver of log lines for the user. */
export type AttachOptions = Pick<HostHooksOptions, 'limitMillis' | 'report'>

type LineSink = (line: string) => void

export function sharedInProcess<Value>(key: symbol, create: () => Value): Value {
  const holder = globalThis as Record<symbol, unknown>
  holder[key] ??= create()
  return holder[key] as Value
}

function runningHost(host: string): RunningHost | undefined {
  return (globalThis as { [RUNNING]?: Map<string, RunningHost> })[RUNNING]?.get(host)
}

/** One attachment to a host. No method throws or waits. */
export interface Attachment {
  readonly plugin: Plugin
  /**
   * Handles one event of the host.
   *
   * @param scope the subject of the event, usually its session. A host that has loaded this package twice emits each event twice;
   * only those of the newest attachment are recorded.
   */
  handleEvent(event: HostEvent, scope?: string): void
  /**
   * Redirects the log lines for the user, including those buffered before the first event. A host that draws on the terminal has
   * a better place than stderr.
   */
  reportTo(report: LineSink): void
  /** Runs a callback in a host in which an exception would fail a tool or the run. */
  catchErrors<Result>(run: () => Result): Result | undefined
}

class RunningHost {
  readonly plugin: Plugin
  readonly #forwarder: HostForwarder
  readonly #newest = new LimitedMap<string, number>(2000)
  #attachments = 0
  /** Where this host displays log lines for the user. They are buffered until this is known. */
  #showLine: LineSink | undefined
  readonly #bufferedLines: string[] = []

  constructor(host: string, machine: HostMachine, options: PluginOptions) {
    const log: LineSink = line => {
      if (this.#showLine === undefined) this.#bufferedLines.push(line)
      else this.#showLine(line)
    }
    this.plugin = createPlugin({ host, logger: { error: log, warn: log }, ...options })
    this.#forwarder = new HostForwarder(host, machine, this.plugin, log)
    let hasEnded = false
    const endRun = (): void => {
      if (!hasEnded) this.#forwarder.endRun(Date.now())
      hasEnded = true
    }
    // Runs before the plugin's own exit listeners, after which the plugin drops every event.
    process.prependOnceListener('beforeExit', endRun)
    process.prependOnceListener('exit', endRun)
  }

  attach(): Attachment {
    const number = ++this.#attachments
    return {
      plugin: this.plugin,
      handleEvent: (event, scope = '') => {
        if (this.#forwarder.isIgnored(event.event) || !this.#isNewestAttachment(number, scope)) return
        if (this.#showLine === undefined) this.#showLines(line => writeTo(process.stderr, `${line}\n`))
        this.#forwarder.forwardEvent(event)
      },
      reportTo: report => this.#showLines(report),
      catchErrors: run => this.#forwarder.catchErrors('a callback', run),
    }
  }

  handleEarlyEvent(event: HostEvent): void {
    if (!this.#forwarder.isIgnored(event.event)) this.#forwarder.forwardEvent(event)
  }

  #isNewestAttachment(number: number, scope: string): boolean {
    const newest = this.#newest.get(scope) ?? 0
    if (newest > number) return false
    if (newest < number) this.#newest.refresh(scope, number)
    return true
  }

  #showLines(show: LineSink): void {
    this.#showLine = show
    this.#forwarder.catchErrors('its place for messages', () => {
      for (const line of this.#bufferedLines.splice(0)) show(line)
    })
  }
}

/**
 * Attaches this package to a host. The first call in a process starts the plugin. Later calls, also from other copies of this
 * package, share it; their options are ignored.
 */
export function attachHost(host: string, createMachine: () => HostMachine, options: PluginOptions = {}): Attachment {
  let found = runningHost(host)
  if (found === undefined) {
    found = new RunningHost(host, createMachine(), options)
    sharedInProcess<Map<string, RunningHost>>(RUNNING, () => new Map()).set(host, found)
  }
  return found.attach()
}

export function runningPlugin(host: string): Plugin | undefined {
  return runningHost(host)?.plugin
}

/**
 * The trace of control hooks in an agent that runs them before it reports the start of a tool: what they say of a tool call goes
 * through the events of the agent, whose adapter puts it below the tool.
 */
export function toolHookTrace(host: string): TracedPlugin | undefined {
  const running = runningHost(host)
  if (running === undefined) return undefined
  return {
    emitUntyped: (hook, payload, meta) => {
      if (idOf(peek(payload, 'tool_call_id')) === undefined) return running.plugin.emitUntyped(hook, payload, meta)
      return running.handleEarlyEvent({ event: hook, ...meta, data: payload })
    },
    traceparent: ids => running.plugin.traceparent(ids),
  }
}

/**
 * Emits an event to a host's trace before the host itself does, so that records emitted next find it. Only for events that may be
 * emitted twice.
 */
export function forwardEarly(host: string, event: HostEvent): void {
  runningHost(host)?.handleEarlyEvent(event)
}

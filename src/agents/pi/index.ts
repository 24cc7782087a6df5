import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { writeTo } from '../../delivery/terminal.ts'
import type { PluginOptions } from '../../index.ts'
import { type Attachment, attachHost, sharedInProcess } from '../attach.ts'
import { PiMachine, READINGS } from './events.ts'
import type { PiContext, PiExtension, PiExtensionApi } from './types.ts'

export type { PiContext, PiExtension, PiExtensionApi, PiModel, PiUi } from './types.ts'

const LAST_REASONS: ReadonlySet<unknown> = new Set(['quit', 'reload', undefined])
const TRACEPARENT = 'traceparent'

/**
 * Creates an extension of Pi that records its sessions.
 *
 * @example
 * // ~/.pi/agent/extensions/hookspan.ts
 * import { createPiExtension } from 'hookspan/pi'
 * export default createPiExtension({ content_capture: 'full' })
 */
export function createPiExtension(options: PluginOptions = {}): PiExtension {
  return pi => new PiListener(attachHost('pi', () => new PiMachine(), options)).listenTo(pi)
}

/** The extension, configured by file and environment. */
// biome-ignore lint/style/noDefaultExport: Pi calls the default export of a module.
export default function hookspan(pi: PiExtensionApi): void {
  createPiExtension()(pi)
}

/** One load of the extension: Pi loads it at the start, for a new session, and after a reload. */
class PiListener {
  readonly #attachment: Attachment
  /** The running tools of each session. */
  readonly #tools = new Map<string, Set<string>>()

  constructor(attachment: Attachment) {
    this.#attachment = attachment
  }

  /**
   * Handlers return nothing and never throw: in `tool_call`, either could block the tool. Only the events that are read get
   * one: Pi waits for every handler, and copies whole conversations for some.
   */
  listenTo(pi: PiExtensionApi): void {
    for (const name of Object.keys(READINGS)) {
      pi.on(name, (event, context) => this.#attachment.catchErrors(() => this.#handleEvent(name, event, context)))
    }
  }

  #handleEvent(name: string, data: unknown, context: PiContext): Promise<void> | undefined {
    if (name === 'message_update' && isMoreOfTheSame(data)) return undefined
    if (name === 'session_start') this.#reportIn(context)
    const sessionId = context.sessionManager?.getSessionId?.()
    const seen = { event: name, at: Date.now(), data, context: plainContext(sessionId, context) }
    this.#attachment.handleEvent(seen, sessionId)
    const session = idOf(sessionId)
    if (session === undefined) return undefined
    const tool = idOf(peek(data, 'toolCallId'))
    if (name === 'before_provider_headers') this.#addHeader(peek(data, 'headers'), session)
    else if (name === 'agent_end' || name === 'session_shutdown') this.#clearSession(session)
    else if (name === 'tool_execution_start' && tool !== undefined) this.#addTool(session, tool)
    else if (name === 'tool_execution_end' && tool !== undefined) this.#removeTool(session, tool)
    const isLast = name === 'session_shutdown' && LAST_REASONS.has(peek(data, 'reason'))
    return isLast ? this.#attachment.plugin.flush() : undefined
  }

  /** Reports by `notify`: Pi draws on the terminal, and other output would corrupt the screen. */
  #reportIn({ hasUI, ui }: PiContext): void {
    if (hasUI !== true || typeof ui?.notify !== 'function') return
    this.#attachment.reportTo(line => {
      try {
        ui.notify?.(line, 'warning')
      } catch {
        // The session of this `ui` has ended.
        writeTo(process.stderr, `${line}\n`)
      }
    })
  }

  #addHeader(headers: unknown, session: string): void {
    if (typeof headers !== 'object' || headers === null) return
    if (Object.keys(headers).some(name => name.toLowerCase() === TRACEPARENT)) return
    const traceparent = this.#attachment.plugin.traceparent({ session_id: session })
    if (traceparent !== undefined) (headers as Record<string, string>)[TRACEPARENT] = traceparent
  }

  #addTool(session: string, tool: string): void {
    const tools = this.#tools.get(session) ?? new Set()
    this.#tools.set(session, tools.add(tool))
    this.#updateEnvironment()
  }

  #removeTool(session: string, tool: string): void {
    const tools = this.#tools.get(session)
    if (tools?.delete(tool) !== true) return
    if (tools.size === 0) this.#tools.delete(session)
    this.#updateEnvironment()
  }

  #clearSession(session: string): void {
    if (this.#tools.delete(session)) this.#updateEnvironment()
  }

  /**
   * Sets the trace context in the environment, so that a child agent started by a tool finds its parent. Pi offers no environment
   * per tool, so the variable is set for the whole process while tools run, and restored afterwards. If several tools run at once,
   * the one that starts a process is unknown: the turn's context is used.
   */
  #updateEnvironment(): void {
    const [only, another] = this.#tools
    if (only === undefined || another !== undefined) setVariable(undefined)
    else {
      const [session_id, [tool_call_id, further]] = only
      const isOne = tool_call_id !== undefined && further === undefined
      setVariable(this.#attachment.plugin.traceparent(isOne ? { session_id, tool_call_id } : { session_id }))
    }
  }
}

function isMoreOfTheSame(data: unknown): boolean {
  const kind = textOf(peek(peek(data, 'assistantMessageEvent'), 'type')) ?? ''
  return kind.endsWith('_delta') || kind.endsWith('_end')
}

/** Copies the context to plain data, which stays valid after Pi has released the session. */
function plainContext(sessionId: unknown, context: PiContext): Readonly<Record<string, unknown>> {
  const { model, hasUI, mode, cwd } = context
  const { provider, id, api, baseUrl } = model ?? {}
  const used = model == null ? undefined : { provider, id, api, baseUrl }
  return { sessionId, model: used, hasUI, mode, cwd, aborted: context.signal?.aborted === true || undefined }
}

/** Shared by all copies of this package in a process, because the environment is shared, too. */
const SHARED = Symbol.for('hookspan.pi.environment')
const NAME = 'TRACEPARENT'

function setVariable(value: string | undefined): void {
  const shared = sharedInProcess<{ ours?: string | undefined; theirs?: string | undefined }>(SHARED, () => ({}))
  const current = process.env[NAME]
  const isOurs = shared.ours !== undefined && current === shared.ours
  if (!isOurs) shared.theirs = current
  const next = value ?? (isOurs ? shared.theirs : current)
  if (next === undefined) delete process.env[NAME]
  else if (next !== current) process.env[NAME] = next
  shared.ours = value
}

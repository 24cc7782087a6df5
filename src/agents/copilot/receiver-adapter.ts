import { idOf, numberOf, peek, pickFields, textOf } from '../../contract/foreign.ts'
import { ownEnvironment } from '../base/file-adapter.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { ATTRIBUTES, CONVERSATION, FILE_READ, OPERATION, SPAN_READ, SPAN_REQUEST, WAITING_HOOKS } from './events.ts'
import { SessionFiles } from './session-file.ts'

/** Event name for a body without a hook name, such as that of `preToolUse`: counted as ignored. */
const UNNAMED = 'unnamed'
/** Exporters batch ended spans for five seconds. The wait does not delay the agent. */
const PATIENCE_MILLIS = 8_000
const TEXT_LIMIT = 1_000_000
const CLIENT = 3

class TelemetrySession {
  since: number | undefined
  knownUntil = 0
  hasSpans = false
  onTurnSpan: () => void = () => undefined
}

/**
 * Reads the hooks of GitHub Copilot CLI, its session files, and its telemetry. Without a file, only telemetry has the requests.
 * Spans come seconds after the hooks, and the turn's own span is the last. A hook that ends a turn waits for that span, if spans
 * are sent.
 */
export class CopilotAdapters {
  readonly #environment: AdapterEnvironment
  readonly #files: SessionFiles
  readonly #sessions = new LimitedMap<string, TelemetrySession>(1000)
  /** True after a wait in vain without any span since: in most installations telemetry is disabled. */
  #isSilent = false

  readonly hooks: ReceiverAdapter = {
    events: ({ body, at }) => {
      if (typeof body !== 'object' || body === null) return []
      const event = textOf(peek(body, 'hook_event_name')) ?? UNNAMED
      return /^(?:span|file):/.test(event) ? [] : [{ event, at, data: body }]
    },
    enrich: event => this.#readEvents(event),
  }

  readonly spans: ReceiverAdapter = { events: delivery => this.#readSpan(delivery) }

  constructor(environment: AdapterEnvironment) {
    this.#environment = environment
    this.#files = new SessionFiles(environment)
  }

  async #readEvents({ event, at = 0, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (session_id === undefined) return []
    const found = await this.#files.read(event, at, data)
    if (found !== undefined) return [...found, { event: FILE_READ, data: { session_id } }]
    const session = this.#sessionOf(session_id)
    // A turn whose prompt was not received.
    if (event === 'PreToolUse') session.since ??= at
    if (!WAITING_HOOKS.has(event)) return [{ event: FILE_READ, data: { session_id } }]
    if (session.since !== undefined) await this.#awaitSpans(session, session.since)
    session.since = event === 'UserPromptSubmit' ? at : undefined
    return [{ event: SPAN_READ, data: { session_id } }]
  }

  async #awaitSpans(session: TelemetrySession, since: number): Promise<void> {
    const isKnown = (): boolean => session.knownUntil > since
    if (isKnown() || (this.#isSilent && !session.hasSpans)) return
    const over = new AbortController()
    const arrived = new Promise<void>(resolve => {
      session.onTurnSpan = () => isKnown() && resolve()
    })
    await Promise.race([arrived, this.#environment.wait(PATIENCE_MILLIS, over.signal)])
    over.abort()
    if (!session.hasSpans) this.#isSilent = true
  }

  #readSpan({ body, at }: HookDelivery): readonly HostEvent[] {
    const attributes = peek(body, 'attributes')
    const session = this.#sessionOf(idOf(peek(attributes, CONVERSATION)) ?? '')
    session.hasSpans = true
    this.#isSilent = false
    const operation = peek(attributes, OPERATION)
    // The span of the agent itself. Those of child agents are below it.
    const isTurn = peek(body, 'kind') === CLIENT || peek(body, 'parentSpanId') === undefined
    if (operation === 'invoke_agent' && isTurn) {
      session.knownUntil = Math.max(session.knownUntil, numberOf(peek(body, 'endAt')) ?? 0)
      session.onTurnSpan()
    }
    if (operation !== 'chat') return []
    return [{ event: SPAN_REQUEST, at, data: { ...(body as object), attributes: selectAttributes(attributes) } }]
  }

  #sessionOf(id: string): TelemetrySession {
    return this.#sessions.recall(id, () => new TelemetrySession())
  }
}

/** Keeps only the attributes that are read: the others, such as the whole conversation, would fill the memory. */
function selectAttributes(attributes: unknown): Record<string, unknown> {
  const values = Object.entries(pickFields(attributes, ATTRIBUTES))
  return Object.fromEntries(values.filter(([, value]) => !(typeof value === 'string' && value.length > TEXT_LIMIT)))
}

const adapters = new CopilotAdapters(ownEnvironment(['COPILOT_HOME'], '.copilot'))

export const copilot: ReceiverAdapter = adapters.hooks
export const copilotSpans: ReceiverAdapter = adapters.spans

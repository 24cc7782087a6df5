import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { EventMachine, type Events, eventsOf, type Moment, saidAt } from '../base/event-machine.ts'
import { type Called, HookedSession, type HookedTurn } from '../base/hooked-session.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Outcome } from '../base/turn.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { type RequestSpan, requestIn, tellRequest } from './requests.ts'
import { CONVERSATION, QUIET_HOOKS, SPAN_READ, SPAN_REQUEST, WAITING_HOOKS } from './types.ts'

const PLATFORM = 'copilot'
const SPANS_LIMIT = 1000
const EARLY_LIMIT = 100

class CopilotSession extends HookedSession {
  /** A hook that ends a turn, and waits for its spans. */
  held: Moment | undefined
  /** Requests that began behind it: of a turn that is not known yet. */
  readonly early: RequestSpan[] = []
  /** Requests that were told: exporters send again what they do not know to have arrived. */
  readonly told: LimitedMap<string, true> = new LimitedMap(SPANS_LIMIT)
}

type Taking = (session: CopilotSession, at: number, data: unknown) => void

function ofTurn(take: (turn: HookedTurn, at: number, data: unknown) => void): Taking {
  return (session, at, data) => take(session.turnFor(at), at, data)
}

const OUTCOMES: Readonly<Record<string, Outcome>> = { complete: 'completed', error: 'failed', timeout: 'failed' }

const HOOKS: Readonly<Record<string, Taking>> = {
  SessionStart: () => undefined,
  UserPromptSubmit: (session, at, data) => session.prompted(at, peek(data, 'prompt')),
  PreToolUse: ofTurn((turn, at, data) => turn.toolStarted(at, calledIn(data))),
  PostToolUse: ofTurn((turn, at, data) => {
    const result = peek(peek(data, 'tool_result'), 'text_result_for_llm')
    turn.toolEnded(at, calledIn(data), { status: 'completed', result })
  }),
  PostToolUseFailure: ofTurn((turn, at, data) => {
    turn.toolEnded(at, calledIn(data), { status: 'error', message: textOf(peek(data, 'error')) })
  }),
  ErrorOccurred: ofTurn(failed),
  Stop: ofTurn((turn, at) => turn.end(at, 'completed')),
  SessionEnd: (session, at, data) => {
    tellEarly(session)
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    session.ended(at, (Object.hasOwn(OUTCOMES, reason) ? OUTCOMES[reason] : undefined) ?? 'interrupted', reason)
  },
}

/** Only where VS Code reads the same files there is an id. */
function calledIn(data: unknown): Called {
  return { id: idOf(peek(data, 'tool_use_id')), name: peek(data, 'tool_name'), args: peek(data, 'tool_input') }
}

/** Of requests only those are told that failed. They began behind what was told before. */
function failed(turn: HookedTurn, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  const error = peek(data, 'error')
  const type = textOf(peek(error, 'name'))
  const retryable = peek(data, 'recoverable') === true
  turn.tellPrompt()
  const request = turn.requests.next(turn.beforeAt)
  turn.requests.failures += 1
  request.tellStart({ model: turn.model }, 'inferred')
  request.tellFailure(at, { retryable, reason: type, error: { type, message: peek(error, 'message') } })
}

/** Hooks own the requests that fail: they tell of them at once. */
function requestFound(session: CopilotSession, span: RequestSpan): void {
  const { held, early, told } = session
  if (span.hasFailed || (span.id !== undefined && told.has(span.id))) return
  const turn = session.turnAt(span.startAt)
  const isEarly = held !== undefined && (turn === undefined || span.startAt > held.at)
  if (isEarly && early.length < EARLY_LIMIT) early.push(span)
  else if (turn !== undefined) {
    if (span.id !== undefined) told.set(span.id, true)
    tellRequest(turn, span)
  }
}

function tellEarly(session: CopilotSession): void {
  for (const span of session.early.splice(0)) requestFound(session, span)
}

function release(session: CopilotSession): void {
  const { held } = session
  session.held = undefined
  if (held !== undefined) take(session, held)
}

function take(session: CopilotSession, { event, at, data }: Moment): void {
  HOOKS[event]?.(session, at, data)
  // Behind the end of a turn they wait for the next one.
  if (event !== 'Stop') tellEarly(session)
}

/**
 * What the hooks of GitHub Copilot CLI mean, and the spans that it sends of itself: hooks say nothing of requests that went well,
 * nor of tokens, and all else is told by them alone. Spans come late; so a hook that ends a turn waits until they are known.
 */
class CopilotMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new CopilotSession(this.records, id, PLATFORM))
  protected readonly events: Events = eventsOf(
    {
      ...Object.fromEntries(Object.keys(HOOKS).map(name => [name, (moment: Moment) => this.#hook(moment)])),
      [SPAN_REQUEST]: ({ data }) => {
        const span = requestIn(data)
        const session = this.#ofSpan(data)
        if (span !== undefined && session !== undefined) requestFound(session, span)
      },
      [SPAN_READ]: ({ data }) => {
        const session = this.#sessions.look(idOf(peek(data, 'session_id')) ?? '')
        if (session !== undefined) release(session)
      },
    },
    QUIET_HOOKS,
  )

  /** A request of a session of which no hook was heard is counted as ignored. */
  override accept(event: HostEvent): readonly HookRecord[] | undefined {
    const isNobodys = event.event === SPAN_REQUEST && this.#ofSpan(event.data) === undefined
    return isNobodys ? undefined : super.accept(event)
  }

  protected finish(): void {
    for (const session of this.#sessions.values()) {
      release(session)
      tellEarly(session)
    }
  }

  #hook({ event, at, data }: Moment): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const session = this.#sessions.get(id)
    release(session)
    const moment = { event, at: saidAt(timeOf(peek(data, 'timestamp')), at), data }
    if (WAITING_HOOKS.has(event)) session.held = moment
    else take(session, moment)
  }

  /** Behind its end a session takes no more: its requests would look like a turn. */
  #ofSpan(span: unknown): CopilotSession | undefined {
    const session = this.#sessions.look(idOf(peek(peek(span, 'attributes'), CONVERSATION)) ?? '')
    return session?.isOpen === true || session?.held !== undefined ? session : undefined
  }
}

/** ISO 8601. */
function timeOf(timestamp: unknown): number | undefined {
  const time = Date.parse(textOf(timestamp) ?? '')
  return Number.isNaN(time) ? undefined : time
}

export function createCopilotMachine(): HostMachine {
  return new CopilotMachine()
}

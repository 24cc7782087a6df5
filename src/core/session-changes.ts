import { idOf, peek } from '../contract/foreign.ts'
import type {
  FinalStatus,
  HookResult,
  SessionReset,
  TransformLlmOutput,
  TransformToolResult,
} from '../contract/index.ts'
import { BoundedMap } from './bounded-map.ts'
import type { CoreParts, Incoming } from './parts.ts'
import type { RecordIds } from './record-ids.ts'
import type { Session, Turn } from './turn.ts'

/** Torn-down sessions whose successor may still be told. */
const FINALIZED_LIMIT = 1000

type Predecessor = NonNullable<Session['previous']>

/** Sessions that come and go: finalize and reset. And the transforms, which are only observed. */
export class SessionChanges {
  readonly #parts: CoreParts
  readonly #finalized = new BoundedMap<string, Predecessor>(FINALIZED_LIMIT)
  /** Per host: a reset that names only the new session replaces the one that was torn down last. */
  readonly #lastFinalized = new BoundedMap<string, Predecessor>(FINALIZED_LIMIT)

  constructor(parts: CoreParts) {
    this.#parts = parts
  }

  finalize(incoming: Incoming): HookResult {
    const session = this.#sessionOf(incoming)
    if (session === undefined) return 'ignored'
    this.#tearDown(session, incoming, 'finalized')
    return 'ok'
  }

  /** The old session's last root is linked from the first turn of the new one. */
  reset(incoming: Incoming): HookResult {
    const { registry } = this.#parts
    const { fired, host } = incoming
    const payload = fired.payload as SessionReset
    const newId = idOf(payload.new_session_id) ?? idOf(payload.session_id)
    const said =
      idOf(payload.old_session_id) ?? (newId === idOf(payload.session_id) ? undefined : idOf(payload.session_id))
    const old = said === undefined ? undefined : registry.knownSession(host, named(said))
    if (old !== undefined) this.#tearDown(old, incoming, 'reset')
    const predecessor =
      said === undefined
        ? this.#lastFinalized.get(host)
        : (this.#finalized.get(`${host}\u0000${said}`) ?? this.#unknown(said))
    if (newId === undefined || predecessor === undefined || newId === said) return old === undefined ? 'ignored' : 'ok'
    registry.session(host, named(newId)).previous = predecessor
    return 'ok'
  }

  /** Another plugin is about to replace a result or an answer: an event where the span is still open, else on the turn. */
  transform(incoming: Incoming): HookResult {
    const { registry, lifecycle, options } = this.#parts
    const { fired, ids, host } = incoming
    const turn = registry.find(host, ids, false)
    if (turn === undefined) return 'ignored'
    lifecycle.touch(turn, fired.at)
    const isTool = fired.hook === 'transform_tool_result'
    const tool = isTool && ids.toolCallId !== undefined ? turn.open.get(`tool ${ids.toolCallId}`) : undefined
    const target = tool ?? turn.root
    if (target === undefined) return 'ignored'
    const { own } = options.draw.names
    const name = isTool ? own.eventToolResultTransformed : own.eventOutputTransformed
    if (name !== '') target.span.addEvent(name, this.#transformAttributes(incoming), fired.at)
    return 'ok'
  }

  #transformAttributes({ fired }: Incoming): Record<string, string> {
    const { draw } = this.#parts.options
    const payload = fired.payload as TransformToolResult & TransformLlmOutput
    const attributes: Record<string, string> = {}
    const tool = draw.capture.id(peek(payload, 'tool_name'))
    const call = draw.capture.id(peek(payload, 'tool_call_id'))
    if (tool !== undefined) attributes[draw.names.genAi.toolName] = tool
    if (call !== undefined) attributes[draw.names.genAi.toolCallId] = call
    delete attributes['']
    return attributes
  }

  #tearDown(session: Session, { fired }: Incoming, finalStatus: FinalStatus): void {
    const { registry, lifecycle, options, onTurnEnd } = this.#parts
    const turns: Turn[] = [...session.turns]
    for (const turn of turns) lifecycle.finish(turn, { at: fired.at, finalStatus, descendants: 'turn_ended' })
    const predecessor: Predecessor = { id: options.draw.capture.id(session.id), root: session.lastRoot }
    if (session.id !== undefined) this.#finalized.set(`${session.host}\u0000${session.id}`, predecessor)
    this.#lastFinalized.set(session.host, predecessor)
    registry.forget(session)
    if (turns.length > 0) onTurnEnd()
  }

  #sessionOf({ ids, host }: Incoming): Session | undefined {
    const { registry } = this.#parts
    return ids.sessionId === undefined ? registry.onlyOpen(host)?.session : registry.knownSession(host, ids)
  }

  #unknown(id: string): Predecessor {
    return { id: this.#parts.options.draw.capture.id(id), root: undefined }
  }
}

function named(sessionId: string): RecordIds {
  return { sessionId, turnId: undefined, taskId: undefined, apiRequestId: undefined, toolCallId: undefined }
}

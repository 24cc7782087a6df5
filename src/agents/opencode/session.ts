import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import { DelegatedTask, type DelegatedTaskEnd } from '../base/delegation.ts'
import { LimitedMap, type SessionStates } from '../base/limited-map.ts'
import { joinTexts } from '../base/messages.ts'
import type { Records } from '../base/records.ts'
import { Title } from './requests.ts'
import type { OpencodeToolCall } from './tools.ts'
import { BLANK_LINE, OpencodeTurn } from './turn.ts'

const PARTS_LIMIT = 100
const PENDING_LIMIT = 20

export interface Prompt {
  readonly id: string
  readonly at: number
  readonly agent: unknown
  readonly model: unknown
  text: string | undefined
}

/** Returns the user's text. Parts added by opencode, such as files it has read, are marked synthetic and excluded. */
export function promptText(parts: unknown): string | undefined {
  return joinTexts(
    elementsOf(parts, PARTS_LIMIT)
      .filter(part => peek(part, 'type') === 'text' && peek(part, 'synthetic') !== true)
      .map(part => textOf(peek(part, 'text'))),
    BLANK_LINE,
  )
}

/** User messages without a turn. A turn takes all messages sent before it. */
export class Prompts {
  #pending: Prompt[] = []

  /** @param message from `chat.message`, or from `message.updated`, which repeats it */
  add(id: string, at: number, message: unknown, text: string | undefined): void {
    const known = this.#pending.find(prompt => prompt.id === id)
    if (known !== undefined) {
      known.text ??= text
      return
    }
    this.#pending.push({ id, at, agent: peek(message, 'agent'), model: peek(message, 'model'), text })
    if (this.#pending.length > PENDING_LIMIT) this.#pending.shift()
  }

  addText(part: unknown): void {
    const id = idOf(peek(part, 'messageID'))
    const prompt = this.#pending.find(waiting => waiting.id === id)
    if (prompt !== undefined) prompt.text ??= promptText([part])
  }

  has(id: string): boolean {
    return this.#pending.some(prompt => prompt.id === id)
  }

  get last(): Prompt | undefined {
    return this.#pending.at(-1)
  }

  removeUpTo(id: string): readonly Prompt[] {
    const index = this.#pending.findIndex(prompt => prompt.id === id)
    return this.#pending.splice(0, index + 1)
  }
}

/** Limit of remembered user messages: late events of an ended turn must not open it again. */
const KNOWN_LIMIT = 200

export class OpencodeSession {
  readonly id: string
  readonly prompts: Prompts = new Prompts()
  readonly title: Title
  parentId: string | undefined
  directory: string | undefined
  createdAt: number | undefined
  agent: unknown
  turn: OpencodeTurn | undefined
  delegation: DelegatedTask | undefined
  hadTurn = false
  readonly #records: Records
  readonly #turnOf = new LimitedMap<string, string>(KNOWN_LIMIT)

  constructor(records: Records, id: string) {
    this.#records = records
    this.id = id
    this.title = new Title(records, messageId => this.turnOf(messageId) !== undefined)
  }

  readInfo(at: number, info: unknown): void {
    this.parentId ??= idOf(peek(info, 'parentID'))
    this.directory = textOf(peek(info, 'directory')) ?? this.directory
    this.agent = peek(info, 'agent') ?? this.agent
    this.createdAt ??= at
  }

  turnOf(messageId: string | undefined): string | undefined {
    return messageId === undefined ? undefined : this.#turnOf.get(messageId)
  }

  assign(messageId: string, turnId: string): void {
    this.#turnOf.set(messageId, turnId)
  }

  /**
   * Begins the turn of this message, which includes all messages sent before it.
   *
   * @param at the start time; if undefined, the time of the message
   */
  openTurn(messageId: string, now: number, at: number | undefined, said: unknown): OpencodeTurn {
    const prompts = this.prompts.removeUpTo(messageId)
    const own = prompts.at(-1)
    const turn = new OpencodeTurn(this.#records, this.id, messageId)
    this.turn = turn
    this.hadTurn = true
    this.assign(messageId, messageId)
    for (const { id } of prompts) this.assign(id, messageId)
    const startedAt = at ?? own?.at ?? now
    const used = own?.model ?? said
    const [model, provider, parent_session_id] = [peek(used, 'modelID'), peek(used, 'providerID'), this.parentId]
    // opencode's own agent: `build`, `plan`, or one defined by the user. The agent of the trace is opencode.
    const profile = textOf(own?.agent) ?? textOf(this.agent)
    const cwd = this.directory
    turn.emit('on_session_start', startedAt, { model, provider, profile, parent_session_id, cwd })
    const user_message = joinTexts(
      prompts.map(({ text }) => text),
      BLANK_LINE,
    )
    turn.emit('pre_llm_call', startedAt, { model, provider, user_message, parent_session_id })
    return turn
  }
}

/**
 * Starts a delegation to a child session for this turn.
 *
 * @param call the tool call that requested it; undefined if unknown
 */
function delegate(
  child: OpencodeSession,
  parent: OpencodeTurn,
  call: OpencodeToolCall | undefined,
  at: number,
  correlation?: Correlation,
): void {
  if (child.delegation !== undefined) return
  if (call !== undefined) call.childId = child.id
  const startedAt = Math.min(at, Math.max(child.createdAt ?? at, call?.startAt ?? 0))
  child.delegation = new DelegatedTask(parent, startedAt, {
    child_session_id: child.id,
    child_role: textOf(peek(call?.args, 'subagent_type')) ?? textOf(child.agent),
    tool_call_id: call?.id,
  })
  child.delegation.emitStart(peek(call?.args, 'prompt'), correlation)
}

export function endDelegation(child: OpencodeSession, at: number, { status, summary }: DelegatedTaskEnd): void {
  const { delegation } = child
  child.delegation = undefined
  delegation?.emitEnd(at, { status, summary, durationMillis: at - delegation.startAt })
}

export function joinChild(
  sessions: SessionStates<OpencodeSession>,
  turn: OpencodeTurn,
  call: OpencodeToolCall,
  at: number,
  state: unknown,
): void {
  const childId = idOf(peek(peek(state, 'metadata'), 'sessionId'))
  if (childId === undefined || childId === turn.sessionId || call.childId !== undefined) return
  call.childId = childId
  const child = sessions.get(childId)
  child.parentId ??= turn.sessionId
  delegate(child, turn, call, at)
}

/** Starts a delegation to a child that begins to work before any tool has named it. */
export function inferDelegation(sessions: SessionStates<OpencodeSession>, child: OpencodeSession, at: number): void {
  const { parentId, delegation, hadTurn } = child
  const parent = parentId === undefined || hadTurn ? undefined : sessions.find(parentId)?.turn
  if (parent === undefined || delegation !== undefined) return
  const [call, ...others] = parent.calls.withoutChild()
  delegate(child, parent, others.length === 0 ? call : undefined, at, 'inferred')
}

/**
 * Ends the delegation of a tool that is done if its child never began. A child that is working, or about to, continues in the
 * background.
 */
export function endUnstartedChild(
  sessions: SessionStates<OpencodeSession>,
  call: OpencodeToolCall,
  at: number,
  state: unknown,
): void {
  const child = call.childId === undefined ? undefined : sessions.find(call.childId)
  const isAtWork = child?.turn !== undefined || child?.prompts.last !== undefined
  if (child?.delegation === undefined || child.delegation.ids.tool_call_id !== call.id || isAtWork) return
  endDelegation(child, at, { status: peek(state, 'status') === 'completed' ? 'completed' : 'failed' })
}

import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { joined, Prompts } from './prompts.ts'
import { Title } from './title.ts'
import { Turn } from './turn.ts'

/** Messages of the user whose turn is remembered: events of a turn that is over must not open it again. */
const KNOWN_LIMIT = 200

/** A task that this session was given by another one. */
export interface Delegation {
  readonly parentSessionId: string
  readonly callId: string | undefined
  readonly startedAt: number
}

/** What is known of one session, and the turn that it is at. */
export class Session {
  readonly id: string
  readonly prompts: Prompts = new Prompts()
  readonly title: Title = new Title(messageId => this.turnOf(messageId) !== undefined)
  parentId: string | undefined
  directory: string | undefined
  createdAt: number | undefined
  agent: unknown
  turn: Turn | undefined
  /** The task that it is at. */
  delegation: Delegation | undefined
  hadTurn = false
  readonly #turnOf = new Map<string, string>()

  constructor(id: string) {
    this.id = id
  }

  /** From `session.created` and `session.updated`. */
  learn(at: number, info: unknown): void {
    this.parentId ??= idOf(peek(info, 'parentID'))
    this.directory = textOf(peek(info, 'directory')) ?? this.directory
    this.agent = peek(info, 'agent') ?? this.agent
    this.createdAt ??= at
  }

  /** Turn of a message of the user, also of one that is over. */
  turnOf(messageId: string | undefined): string | undefined {
    return messageId === undefined ? undefined : this.#turnOf.get(messageId)
  }

  /** Says that a message belongs to a turn. */
  assign(messageId: string, turnId: string): void {
    this.#turnOf.set(messageId, turnId)
    const [oldest] = this.#turnOf.keys()
    if (this.#turnOf.size > KNOWN_LIMIT && oldest !== undefined) this.#turnOf.delete(oldest)
  }

  /**
   * Begins the turn of this message, which takes up all that the user said before it.
   *
   * @param at when it began; undefined: when the user said it
   */
  openTurn(messageId: string, now: number, at: number | undefined, model: unknown): HookRecord[] {
    const prompts = this.prompts.takeUpTo(messageId)
    const own = prompts.at(-1)
    const turn = new Turn({ session_id: this.id, turn_id: messageId })
    this.turn = turn
    this.hadTurn = true
    this.assign(messageId, messageId)
    for (const { id } of prompts) this.assign(id, messageId)
    const startedAt = at ?? own?.at ?? now
    const used = own?.model ?? model
    const facts = { ...turn.ids, model: peek(used, 'modelID'), provider: peek(used, 'providerID') }
    return [
      hookRecord('on_session_start', startedAt, {
        ...facts,
        // Which of opencode's agents: `build`, `plan`, one that the user has made. The agent of the trace is opencode.
        profile: textOf(own?.agent) ?? textOf(this.agent),
        parent_session_id: this.parentId,
      }),
      hookRecord('pre_llm_call', startedAt, {
        ...facts,
        user_message: joined(prompts.map(({ text }) => text)),
        parent_session_id: this.parentId,
      }),
    ]
  }
}

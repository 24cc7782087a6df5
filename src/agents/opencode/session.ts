import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { joinTexts } from '../base/messages.ts'
import type { Records } from '../base/records.ts'
import { BLANK_LINE, Prompts } from './prompts.ts'
import { Title } from './title.ts'
import { OpencodeTurn } from './turn.ts'

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
    turn.emit('on_session_start', startedAt, { model, provider, profile, parent_session_id })
    const user_message = joinTexts(
      prompts.map(({ text }) => text),
      BLANK_LINE,
    )
    turn.emit('pre_llm_call', startedAt, { model, provider, user_message, parent_session_id })
    return turn
  }
}

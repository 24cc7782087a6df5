import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { type HostEvent, type HostMachine, hookRecord } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { childDone, childOf, delegatedUnseen, returned } from './children.ts'
import { isQuiet } from './event-names.ts'
import type { Moment } from './moment.ts'
import { promptText } from './prompts.ts'
import { agentOf } from './requests.ts'
import { Session } from './session.ts'
import type { Turn } from './turn.ts'

/** Agents that opencode lets do its own work, in a session of a user. */
const TITLE = 'title'
const SUMMARY = 'summary'

type Handler = (moment: Moment, session: Session) => HookRecord[]

export function createOpencodeMachine(): HostMachine {
  return new OpencodeMachine()
}

/** What opencode's hooks and its bus tell, as hook records. */
class OpencodeMachine implements HostMachine {
  readonly #sessions = new SessionStates<Session>(id => new Session(id))
  readonly #handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
    ['chat.message', (moment, session) => this.#prompted(moment, session)],
    ['chat.params', (moment, session) => this.#requested(moment, session)],
    ['event.session.created', (moment, session) => this.#described(moment, session)],
    ['event.session.updated', (moment, session) => this.#described(moment, session)],
    ['event.session.deleted', (moment, session) => this.#deleted(moment, session)],
    ['event.session.status', (moment, session) => this.#status(moment, session)],
    ['event.session.idle', ({ at }, session) => this.#idle(at, session)],
    ['event.session.error', ({ at, data }, { turn }) => turn?.error(at, peek(data, 'error')) ?? []],
    ['event.message.updated', (moment, session) => this.#message(moment, session)],
    ['event.message.part.updated', (moment, session) => this.#part(moment, session)],
    [
      'event.message.part.delta',
      ({ at, data }, { turn }) => nothing(turn?.requests.sign(at, idOf(peek(data, 'messageID')))),
    ],
    ['event.permission.asked', (moment, session) => this.#asked(moment, session)],
    ['event.permission.updated', (moment, session) => this.#asked(moment, session)],
    ['event.permission.replied', ({ at, data }, { turn }) => turn?.answered(at, data) ?? []],
    ['event.question.asked', ({ data }, { turn }) => nothing(turn?.questioned(data))],
    ['event.question.rejected', ({ data }, { turn }) => nothing(turn?.dismissed(data))],
  ])
  #lastAt = 0

  accept({ event, at, data, output }: HostEvent): HookRecord[] | undefined {
    this.#lastAt = numberOf(at) ?? this.#lastAt
    const moment = { at: this.#lastAt, data, output }
    if (event === 'dispose') return this.#disposed(moment)
    const handler = this.#handlers.get(event)
    if (handler === undefined) return typeof event === 'string' && isQuiet(event) ? [] : undefined
    const id = sessionOf(data)
    return id === undefined ? [] : handler(moment, this.#sessions.get(id))
  }

  end(at: number): HookRecord[] {
    return this.#sessions
      .values()
      .flatMap(session => [
        ...(session.turn?.idleAt === undefined ? [] : this.#endTurn(session, session.turn.idleAt)),
        ...session.title.gaveUp(at),
      ])
  }

  #prompted({ at, data, output }: Moment, session: Session): HookRecord[] {
    const message = peek(output, 'message')
    const id = idOf(peek(message, 'id')) ?? idOf(peek(data, 'messageID'))
    if (id === undefined || session.turnOf(id) !== undefined) return []
    session.prompts.add(id, at, message, promptText(peek(output, 'parts')))
    const idleAt = session.turn?.idleAt
    return idleAt === undefined ? [] : this.#endTurn(session, idleAt)
  }

  #requested(moment: Moment, session: Session): HookRecord[] {
    const { at, data } = moment
    const agent = agentOf(data)
    const messageId = idOf(peek(peek(data, 'message'), 'id'))
    if (agent === TITLE) session.title.asked(moment, session.id, session.turnOf(messageId))
    if (agent === TITLE || agent === SUMMARY) return []
    const model = { modelID: peek(peek(data, 'model'), 'id'), providerID: peek(peek(data, 'model'), 'providerID') }
    const [turn, opened] = this.#turnFor(session, messageId, at, model)
    return turn === undefined ? opened : [...opened, ...turn.request(moment)]
  }

  /**
   * The turn of a message of the user, and what its opening tells. A message that `chat.message` has not handed out, in
   * the middle of a turn, is opencode's own (after a compaction, or a command) and belongs to that. Undefined for a turn
   * that is over.
   */
  #turnFor(
    session: Session,
    messageId: string | undefined,
    at: number,
    model: unknown,
  ): [turn: Turn | undefined, opened: HookRecord[]] {
    if (messageId === undefined) return [session.turn, []]
    const known = session.turnOf(messageId)
    if (known !== undefined) return [known === session.turn?.ids.turn_id ? session.turn : undefined, []]
    if (session.turn !== undefined && !session.prompts.has(messageId)) {
      session.assign(messageId, session.turn.ids.turn_id)
      return [session.turn, []]
    }
    // Said while the turn before was at work: it is taken up when that is done.
    const switched = session.turn === undefined ? undefined : at
    const ended = this.#endTurn(session, at, true)
    return this.#open(session, messageId, at, switched, model, ended)
  }

  #open(
    session: Session,
    messageId: string,
    now: number,
    at: number | undefined,
    model: unknown,
    before: HookRecord[] = [],
  ): [turn: Turn | undefined, opened: HookRecord[]] {
    const delegated = delegatedUnseen(this.#sessions, session, now)
    const gaveUp = session.title.gaveUp(now)
    const opened = session.openTurn(messageId, now, at, model)
    return [session.turn, [...before, ...gaveUp, ...delegated, ...opened]]
  }

  #described({ at, data }: Moment, session: Session): HookRecord[] {
    const info = peek(data, 'info')
    session.learn(at, info)
    return session.title.told(at, info)
  }

  #message({ at, data }: Moment, session: Session): HookRecord[] {
    const info = peek(data, 'info')
    const role = peek(info, 'role')
    if (role === 'user') return this.#userMessage(at, info, session)
    if (role !== 'assistant') return []
    const parentId = idOf(peek(info, 'parentID'))
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    // A message that is complete is no sign of a turn that we have missed: it may be years old.
    if (isComplete && session.turnOf(parentId) === undefined) return []
    const [turn, opened] = this.#turnFor(session, parentId, at, info)
    if (turn === undefined) return opened
    const records = [...opened, ...turn.message(at, info)]
    if (turn.idleAt !== undefined && !turn.isWriting) records.push(...this.#endTurn(session, at))
    return records
  }

  #userMessage(at: number, info: unknown, session: Session): HookRecord[] {
    const id = idOf(peek(info, 'id'))
    if (id === undefined || session.turnOf(id) !== undefined || session.prompts.has(id)) return []
    if (session.turn === undefined) session.prompts.add(id, at, info, undefined)
    else session.assign(id, session.turn.ids.turn_id)
    return []
  }

  #part({ at, data }: Moment, session: Session): HookRecord[] {
    const part = peek(data, 'part')
    const { turn } = session
    const type = peek(part, 'type')
    if (type === 'text') session.prompts.supply(part)
    if (turn === undefined) return []
    return type === 'tool' ? this.#toolPart(at, part, turn) : turn.part(at, part)
  }

  #toolPart(at: number, part: unknown, turn: Turn): HookRecord[] {
    const state = peek(part, 'state')
    const status = peek(state, 'status')
    const call = turn.call(at, part, status)
    if (call === undefined || call.state === 'ended') return []
    if (call.state === 'pending') turn.requests.sign(at, call.messageId)
    if (status !== 'running' && status !== 'completed' && status !== 'error') return []
    const records = turn.calls.start(call, at, state)
    for (const approval of call.held.splice(0)) records.push(...turn.approvals.tell(approval))
    if (status === 'running') return [...records, ...childOf(this.#sessions, turn, call, at, state)]
    return [
      ...records,
      ...turn.approvals.cancel(at, call.callId),
      ...childDone(this.#sessions, call, at, state),
      ...turn.calls.end(call, at, state, turn.isStopped),
    ]
  }

  #status(moment: Moment, session: Session): HookRecord[] {
    const status = peek(moment.data, 'status')
    const type = peek(status, 'type')
    if (type === 'idle') return this.#idle(moment.at, session)
    if (type === 'retry') return session.turn?.retry(moment.at, status) ?? []
    return type === 'busy' ? this.#opened(moment.at, session) : []
  }

  /** The session is at work: on what was said last. */
  #opened(at: number, session: Session): HookRecord[] {
    const { last } = session.prompts
    const records =
      session.turn === undefined && last !== undefined ? this.#open(session, last.id, at, undefined, undefined)[1] : []
    if (session.turn !== undefined) session.turn.isOnBus = true
    return records
  }

  #idle(at: number, session: Session): HookRecord[] {
    const { turn } = session
    if (turn === undefined || !turn.isOnBus) return []
    // After an error it comes twice, and before the tools and the message of the last step are closed.
    if (!turn.isWriting) return this.#endTurn(session, at)
    turn.idleAt ??= at
    return []
  }

  #endTurn(session: Session, at: number, isTakenOver = false): HookRecord[] {
    const { turn } = session
    if (turn === undefined) return []
    session.turn = undefined
    const outcome = turn.outcome(isTakenOver)
    return [...turn.end(at, outcome), ...returned(session, at, outcome)]
  }

  #asked({ at, data }: Moment, { turn }: Session): HookRecord[] {
    const told = idOf(peek(peek(data, 'tool'), 'callID')) ?? idOf(peek(data, 'callID'))
    const call = turn?.calls.find(told)
    const approval = turn?.approvals.ask(at, data, call?.callId ?? told)
    if (turn === undefined || approval === undefined) return []
    if (call?.state !== 'pending') return turn.approvals.tell(approval)
    call.held.push(approval)
    return []
  }

  #disposed({ at, data }: Moment): HookRecord[] {
    const directory = textOf(peek(data, 'directory'))
    return this.#sessions
      .values()
      .filter(session => (session.directory ?? directory) === (directory ?? session.directory))
      .flatMap(session => this.#closed(at, session, 'dispose'))
  }

  #deleted({ at }: Moment, session: Session): HookRecord[] {
    return this.#closed(at, session, 'deleted')
  }

  #closed(at: number, session: Session, reason: string): HookRecord[] {
    this.#sessions.delete(session.id)
    const idleAt = session.turn?.idleAt
    const ended = idleAt === undefined ? (session.turn?.approvals.cancel(at) ?? []) : this.#endTurn(session, idleAt)
    const records = [...ended, ...session.title.gaveUp(at)]
    if (session.hadTurn) records.push(hookRecord('on_session_finalize', at, { session_id: session.id, reason }))
    return [...records, ...returned(session, at, { status: 'interrupted', reason, answer: undefined })]
  }
}

function nothing(_done: unknown): HookRecord[] {
  return []
}

function sessionOf(data: unknown): string | undefined {
  return (
    idOf(peek(data, 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'sessionID')) ??
    idOf(peek(peek(data, 'part'), 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'id'))
  )
}

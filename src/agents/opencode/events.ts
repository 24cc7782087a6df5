import { idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandler,
  type EventHandlers,
  EventMachine,
  eventHandlers,
  type TimedEvent,
} from '../base/event-machine.ts'
import type { HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { childDone, childOf, delegatedUnseen, returned } from './children.ts'
import { promptText } from './prompts.ts'
import { agentOf } from './requests.ts'
import { Session } from './session.ts'
import type { OpencodeTurn } from './turn.ts'

/** Agents that opencode itself runs in a user's session. */
const TITLE = 'title'
const SUMMARY = 'summary'

/** Bus events that are not about a turn, or that repeat other events. */
const QUIET_ON_BUS = [
  ...['catalog.updated', 'command.executed', 'file.edited', 'file.watcher.updated', 'global.disposed'],
  ...['installation.update-available', 'installation.updated', 'integration.connection.updated'],
  ...['integration.updated', 'lsp.client.diagnostics', 'lsp.updated', 'mcp.browser.open.failed', 'mcp.tools.changed'],
  ...['message.part.removed', 'message.removed', 'models-dev.refreshed', 'permission.v2.asked'],
  ...['permission.v2.replied', 'plugin.added', 'project.directories.updated', 'project.updated', 'pty.created'],
  ...['pty.deleted', 'pty.exited', 'pty.updated', 'question.replied', 'question.v2.asked', 'question.v2.rejected'],
  ...['question.v2.replied', 'reference.updated', 'server.connected', 'server.instance.disposed'],
  ...['session.compacted', 'session.diff', 'todo.updated', 'tui.command.execute', 'tui.prompt.append'],
  ...['tui.session.select', 'tui.toast.show', 'vcs.branch.updated', 'workspace.failed', 'workspace.ready'],
  ...['workspace.status', 'worktree.failed', 'worktree.ready'],
]

/** Hooks whose observing counterparts on the bus are read instead. */
const QUIET_HOOKS = [
  ...['PLUGIN_INIT', 'chat.headers', 'command.execute.before', 'config', 'experimental.chat.messages.transform'],
  ...['experimental.chat.system.transform', 'experimental.compaction.autocontinue'],
  ...['experimental.provider.small_model', 'experimental.session.compacting', 'experimental.text.complete'],
  ...['permission.ask', 'shell.env', 'tool.definition', 'tool.execute.after', 'tool.execute.before'],
]

/** Bus events are named `event.<type>`; hooks keep their names. */
const QUIET = [...QUIET_ON_BUS.map(type => `event.${type}`), ...QUIET_HOOKS]
/** Prefix of an alternative event format, typed in the SDK and not emitted yet. */
const NEXT = 'event.session.next.'

export function createOpencodeMachine(): HostMachine {
  return new OpencodeMachine()
}

class OpencodeMachine extends EventMachine {
  readonly #sessions = new SessionStates<Session>(id => new Session(this.records, id))
  protected readonly events: EventHandlers = eventHandlers(
    {
      'chat.message': this.#in((session, moment) => this.#prompted(session, moment)),
      'chat.params': this.#in((session, moment) => this.#requested(session, moment)),
      'event.session.created': this.#in(described),
      'event.session.updated': this.#in(described),
      'event.session.deleted': this.#in((session, { at }) => this.#closed(at, session, 'deleted')),
      'event.session.status': this.#in((session, moment) => this.#status(session, moment)),
      'event.session.idle': this.#in((session, { at }) => this.#idle(session, at)),
      'event.session.error': this.#in(({ turn }, { at, data }) => turn?.error(at, peek(data, 'error'))),
      'event.message.updated': this.#in((session, moment) => this.#message(session, moment)),
      'event.message.part.updated': this.#in((session, moment) => this.#part(session, moment)),
      'event.message.part.delta': this.#in(({ turn }, { at, data }) =>
        turn?.requests.sign(at, idOf(peek(data, 'messageID'))),
      ),
      'event.permission.asked': this.#in(asked),
      'event.permission.updated': this.#in(asked),
      'event.permission.replied': this.#in(({ turn }, { at, data }) => turn?.permissionReplied(at, data)),
      'event.question.asked': this.#in(({ turn }, { data }) => turn?.questioned(data)),
      'event.question.rejected': this.#in(({ turn }, { data }) => turn?.dismissed(data)),
      dispose: moment => this.#disposed(moment),
    },
    QUIET,
  )

  override isQuiet(event: string): boolean {
    return super.isQuiet(event) || (typeof event === 'string' && event.startsWith(NEXT))
  }

  /** Wraps a handler that needs a session; events without one are ignored. */
  #in(read: (session: Session, moment: TimedEvent) => void): EventHandler {
    return moment => {
      const id = sessionOf(moment.data)
      if (id !== undefined) read(this.#sessions.get(id), moment)
    }
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.values()) {
      if (session.turn?.idleAt !== undefined) this.#endTurn(session, session.turn.idleAt)
      session.title.gaveUp(at)
    }
  }

  #prompted(session: Session, { at, data, output }: TimedEvent): void {
    const message = peek(output, 'message')
    const id = idOf(peek(message, 'id')) ?? idOf(peek(data, 'messageID'))
    if (id === undefined || session.turnOf(id) !== undefined) return
    session.prompts.add(id, at, message, promptText(peek(output, 'parts')))
    const idleAt = session.turn?.idleAt
    if (idleAt !== undefined) this.#endTurn(session, idleAt)
  }

  #requested(session: Session, moment: TimedEvent): void {
    const { at, data } = moment
    const agent = agentOf(data)
    const messageId = idOf(peek(peek(data, 'message'), 'id'))
    if (agent === TITLE) session.title.asked(moment, session.id, session.turnOf(messageId))
    if (agent === TITLE || agent === SUMMARY) return
    const model = { modelID: peek(peek(data, 'model'), 'id'), providerID: peek(peek(data, 'model'), 'providerID') }
    this.#turnFor(session, messageId, at, model)?.request(moment)
  }

  /**
   * Returns the turn of a user message, and starts it if necessary. In the middle of a turn, a message without `chat.message` is
   * opencode's own (after a compaction or a command) and joins the turn. Returns undefined if the turn has ended.
   */
  #turnFor(session: Session, messageId: string | undefined, at: number, model: unknown): OpencodeTurn | undefined {
    const { turn } = session
    if (messageId === undefined) return turn
    const known = session.turnOf(messageId)
    if (known !== undefined) return known === turn?.turnId ? turn : undefined
    if (turn?.turnId !== undefined && !session.prompts.has(messageId)) {
      session.assign(messageId, turn.turnId)
      return turn
    }
    // The message was sent during the previous turn and is processed after it.
    this.#endTurn(session, at, true)
    return this.#open(session, messageId, at, turn === undefined ? undefined : at, model)
  }

  #open(session: Session, messageId: string, now: number, at?: number, model?: unknown): OpencodeTurn {
    session.title.gaveUp(now)
    delegatedUnseen(this.#sessions, session, now)
    return session.openTurn(messageId, now, at, model)
  }

  #message(session: Session, { at, data }: TimedEvent): void {
    const info = peek(data, 'info')
    const role = peek(info, 'role')
    if (role === 'user') userMessage(session, at, info)
    else if (role === 'assistant') this.#assistantMessage(session, at, info)
  }

  #assistantMessage(session: Session, at: number, info: unknown): void {
    const parentId = idOf(peek(info, 'parentID'))
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    // A complete message is no sign of a missed turn: it may be years old.
    if (isComplete && session.turnOf(parentId) === undefined) return
    const turn = this.#turnFor(session, parentId, at, info)
    turn?.message(at, info)
    if (turn?.idleAt !== undefined && !turn.isWriting) this.#endTurn(session, at)
  }

  #part(session: Session, { at, data }: TimedEvent): void {
    const part = peek(data, 'part')
    const type = peek(part, 'type')
    if (type === 'text') session.prompts.supply(part)
    if (session.turn === undefined) return
    if (type === 'tool') this.#toolPart(session.turn, at, part)
    else session.turn.part(at, part)
  }

  #toolPart(turn: OpencodeTurn, at: number, part: unknown): void {
    const state = peek(part, 'state')
    const status = peek(state, 'status')
    const call = turn.call(at, part, status)
    if (call === undefined || call.state === 'ended') return
    if (call.state === 'asked') turn.requests.sign(at, call.messageId)
    if (status !== 'running' && status !== 'completed' && status !== 'error') return
    call.start(at, state)
    if (status === 'running') childOf(this.#sessions, turn, call, at, state)
    else {
      turn.permissions.cancel(at, call.id)
      childDone(this.#sessions, call, at, state)
      call.end(at, state, turn.isStopped)
    }
  }

  #status(session: Session, { at, data }: TimedEvent): void {
    const status = peek(data, 'status')
    const type = peek(status, 'type')
    if (type === 'idle') this.#idle(session, at)
    else if (type === 'retry') session.turn?.retry(at, status)
    else if (type === 'busy') this.#busy(session, at)
  }

  /** Starts a turn for the newest message when the session becomes busy. */
  #busy(session: Session, at: number): void {
    const { last } = session.prompts
    if (session.turn === undefined && last !== undefined) this.#open(session, last.id, at)
    if (session.turn !== undefined) session.turn.isOnBus = true
  }

  #idle(session: Session, at: number): void {
    const { turn } = session
    if (turn === undefined || !turn.isOnBus) return
    // After an error, `idle` is emitted twice, and before the tools and the message of the last step are closed.
    if (turn.isWriting) turn.idleAt ??= at
    else this.#endTurn(session, at)
  }

  #endTurn(session: Session, at: number, isTakenOver = false): void {
    const { turn } = session
    if (turn === undefined) return
    session.turn = undefined
    const outcome = turn.outcome(isTakenOver)
    turn.end(at, outcome)
    returned(session, at, outcome)
  }

  #disposed({ at, data }: TimedEvent): void {
    const directory = textOf(peek(data, 'directory'))
    for (const session of this.#sessions.values()) {
      const isMeant = (session.directory ?? directory) === (directory ?? session.directory)
      if (isMeant) this.#closed(at, session, 'dispose')
    }
  }

  #closed(at: number, session: Session, reason: string): void {
    this.#sessions.delete(session.id)
    const { turn } = session
    if (turn?.idleAt === undefined) turn?.permissions.cancel(at)
    else this.#endTurn(session, turn.idleAt)
    session.title.gaveUp(at)
    if (session.hadTurn) this.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
    returned(session, at, { status: 'interrupted' })
  }
}

function described(session: Session, { at, data }: TimedEvent): void {
  const info = peek(data, 'info')
  session.learn(at, info)
  session.title.told(at, info)
}

function userMessage(session: Session, at: number, info: unknown): void {
  const id = idOf(peek(info, 'id'))
  if (id === undefined || session.turnOf(id) !== undefined || session.prompts.has(id)) return
  if (session.turn?.turnId === undefined) session.prompts.add(id, at, info, undefined)
  else session.assign(id, session.turn.turnId)
}

function asked({ turn }: Session, { at, data }: TimedEvent): void {
  const told = idOf(peek(peek(data, 'tool'), 'callID')) ?? idOf(peek(data, 'callID'))
  const call = turn?.calls.find(told)
  const permission = turn?.permissions.ask(at, data, call?.id ?? told)
  if (permission === undefined) return
  if (call?.state === 'asked') call.held.push(permission)
  else permission.tell()
}

function sessionOf(data: unknown): string | undefined {
  return (
    idOf(peek(data, 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'sessionID')) ??
    idOf(peek(peek(data, 'part'), 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'id'))
  )
}

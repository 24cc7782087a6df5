import { idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandler,
  type EventHandlers,
  EventMachine,
  eventHandlers,
  type TimedEvent,
} from '../base/event-machine.ts'
import { SessionStates } from '../base/limited-map.ts'
import { agentOf } from './requests.ts'
import { endDelegation, endUnstartedChild, inferDelegation, joinChild, OpencodeSession, promptText } from './session.ts'
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

const QUIET = [...QUIET_ON_BUS.map(type => `event.${type}`), ...QUIET_HOOKS]
/** Prefix of an alternative event format, typed in the SDK and not emitted yet. */
const NEXT = 'event.session.next.'

export class OpencodeMachine extends EventMachine {
  readonly #sessions = new SessionStates<OpencodeSession>(id => new OpencodeSession(this.records, id))
  protected readonly events: EventHandlers = eventHandlers(
    {
      'chat.message': this.#withSession((session, moment) => this.#handlePrompt(session, moment)),
      'chat.params': this.#withSession((session, moment) => this.#handleRequest(session, moment)),
      'event.session.created': this.#withSession(readSessionInfo),
      'event.session.updated': this.#withSession(readSessionInfo),
      'event.session.deleted': this.#withSession((session, { at }) => this.#closeSession(at, session, 'deleted')),
      'event.session.status': this.#withSession((session, moment) => this.#status(session, moment)),
      'event.session.idle': this.#withSession((session, { at }) => this.#idle(session, at)),
      'event.session.error': this.#withSession(({ turn }, { at, data }) => turn?.receiveError(at, peek(data, 'error'))),
      'event.message.updated': this.#withSession((session, moment) => this.#message(session, moment)),
      'event.message.part.updated': this.#withSession((session, moment) => this.#part(session, moment)),
      'event.message.part.delta': this.#withSession(({ turn }, { at, data }) =>
        turn?.requests.receiveOutput(at, idOf(peek(data, 'messageID'))),
      ),
      'event.permission.asked': this.#withSession(askPermission),
      'event.permission.updated': this.#withSession(askPermission),
      'event.permission.replied': this.#withSession(({ turn }, { at, data }) => turn?.receiveReply(at, data)),
      'event.question.asked': this.#withSession(({ turn }, { data }) => turn?.addQuestion(data)),
      'event.question.rejected': this.#withSession(({ turn }, { data }) => turn?.dismissQuestion(data)),
      dispose: moment => this.#handleDispose(moment),
    },
    QUIET,
  )

  override isQuiet(event: string): boolean {
    return super.isQuiet(event) || (typeof event === 'string' && event.startsWith(NEXT))
  }

  #withSession(read: (session: OpencodeSession, moment: TimedEvent) => void): EventHandler {
    return moment => {
      const id = sessionOf(moment.data)
      if (id !== undefined) read(this.#sessions.get(id), moment)
    }
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.values()) {
      if (session.turn?.idleAt !== undefined) this.#endTurn(session, session.turn.idleAt)
      session.title.abandonRequest(at)
    }
  }

  #handlePrompt(session: OpencodeSession, { at, data, output }: TimedEvent): void {
    const message = peek(output, 'message')
    const id = idOf(peek(message, 'id')) ?? idOf(peek(data, 'messageID'))
    if (id === undefined || session.turnOf(id) !== undefined) return
    session.prompts.add(id, at, message, promptText(peek(output, 'parts')))
    const idleAt = session.turn?.idleAt
    if (idleAt !== undefined) this.#endTurn(session, idleAt)
  }

  #handleRequest(session: OpencodeSession, moment: TimedEvent): void {
    const { at, data } = moment
    const agent = agentOf(data)
    const messageId = idOf(peek(peek(data, 'message'), 'id'))
    if (agent === TITLE) session.title.startRequest(moment, session.id, session.turnOf(messageId))
    if (agent === TITLE || agent === SUMMARY) return
    const model = { modelID: peek(peek(data, 'model'), 'id'), providerID: peek(peek(data, 'model'), 'providerID') }
    this.#turnFor(session, messageId, at, model)?.startRequest(moment)
  }

  /**
   * Returns the turn of a user message, and starts it if necessary. In the middle of a turn, a message without `chat.message` is
   * opencode's own (after a compaction or a command) and joins the turn. Returns undefined if the turn has ended.
   */
  #turnFor(
    session: OpencodeSession,
    messageId: string | undefined,
    at: number,
    model: unknown,
  ): OpencodeTurn | undefined {
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
    return this.#openTurn(session, messageId, at, turn === undefined ? undefined : at, model)
  }

  #openTurn(session: OpencodeSession, messageId: string, now: number, at?: number, model?: unknown): OpencodeTurn {
    session.title.abandonRequest(now)
    inferDelegation(this.#sessions, session, now)
    return session.openTurn(messageId, now, at, model)
  }

  #message(session: OpencodeSession, { at, data }: TimedEvent): void {
    const info = peek(data, 'info')
    const role = peek(info, 'role')
    if (role === 'user') userMessage(session, at, info)
    else if (role === 'assistant') this.#assistantMessage(session, at, info)
  }

  #assistantMessage(session: OpencodeSession, at: number, info: unknown): void {
    const parentId = idOf(peek(info, 'parentID'))
    const isComplete = peek(peek(info, 'time'), 'completed') !== undefined
    // A complete message is no sign of a missed turn: it may be years old.
    if (isComplete && session.turnOf(parentId) === undefined) return
    const turn = this.#turnFor(session, parentId, at, info)
    turn?.readMessage(at, info)
    if (turn?.idleAt !== undefined && !turn.isWriting) this.#endTurn(session, at)
  }

  #part(session: OpencodeSession, { at, data }: TimedEvent): void {
    const part = peek(data, 'part')
    const type = peek(part, 'type')
    if (type === 'text') session.prompts.addText(part)
    if (session.turn === undefined) return
    if (type === 'tool') this.#toolPart(session.turn, at, part)
    else session.turn.readPart(at, part)
  }

  #toolPart(turn: OpencodeTurn, at: number, part: unknown): void {
    const state = peek(part, 'state')
    const status = peek(state, 'status')
    const call = turn.callOfPart(at, part, status)
    if (call === undefined || call.state === 'ended') return
    if (call.state === 'asked') turn.requests.receiveOutput(at, call.messageId)
    if (status !== 'running' && status !== 'completed' && status !== 'error') return
    call.startTool(at, state)
    if (status === 'running') joinChild(this.#sessions, turn, call, at, state)
    else {
      turn.permissions.cancelPermissions(at, call.id)
      endUnstartedChild(this.#sessions, call, at, state)
      call.endTool(at, state, turn.isStopped)
    }
  }

  #status(session: OpencodeSession, { at, data }: TimedEvent): void {
    const status = peek(data, 'status')
    const type = peek(status, 'type')
    if (type === 'idle') this.#idle(session, at)
    else if (type === 'retry') session.turn?.announceRetry(at, status)
    else if (type === 'busy') this.#busy(session, at)
  }

  #busy(session: OpencodeSession, at: number): void {
    const { last } = session.prompts
    if (session.turn === undefined && last !== undefined) this.#openTurn(session, last.id, at)
    if (session.turn !== undefined) session.turn.isOnBus = true
  }

  #idle(session: OpencodeSession, at: number): void {
    const { turn } = session
    if (turn === undefined || !turn.isOnBus) return
    // After an error, `idle` is emitted twice, and before the tools and the message of the last step are closed.
    if (turn.isWriting) turn.idleAt ??= at
    else this.#endTurn(session, at)
  }

  #endTurn(session: OpencodeSession, at: number, isTakenOver = false): void {
    const { turn } = session
    if (turn === undefined) return
    session.turn = undefined
    const outcome = turn.outcome(isTakenOver)
    turn.emitTurnEnd(at, outcome)
    endDelegation(session, at, outcome)
  }

  #handleDispose({ at, data }: TimedEvent): void {
    const directory = textOf(peek(data, 'directory'))
    for (const session of this.#sessions.values()) {
      const isMeant = (session.directory ?? directory) === (directory ?? session.directory)
      if (isMeant) this.#closeSession(at, session, 'dispose')
    }
  }

  #closeSession(at: number, session: OpencodeSession, reason: string): void {
    this.#sessions.delete(session.id)
    const { turn } = session
    if (turn?.idleAt === undefined) turn?.permissions.cancelPermissions(at)
    else this.#endTurn(session, turn.idleAt)
    session.title.abandonRequest(at)
    if (session.hadTurn) this.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
    endDelegation(session, at, { status: 'interrupted' })
  }
}

function readSessionInfo(session: OpencodeSession, { at, data }: TimedEvent): void {
  const info = peek(data, 'info')
  session.readInfo(at, info)
  session.title.readTitle(at, info)
}

function userMessage(session: OpencodeSession, at: number, info: unknown): void {
  const id = idOf(peek(info, 'id'))
  if (id === undefined || session.turnOf(id) !== undefined || session.prompts.has(id)) return
  if (session.turn?.turnId === undefined) session.prompts.add(id, at, info, undefined)
  else session.assign(id, session.turn.turnId)
}

function askPermission({ turn }: OpencodeSession, { at, data }: TimedEvent): void {
  const told = idOf(peek(peek(data, 'tool'), 'callID')) ?? idOf(peek(data, 'callID'))
  const call = turn?.calls.find(told)
  const permission = turn?.permissions.addPermission(at, data, call?.id ?? told)
  if (permission === undefined) return
  if (call?.state === 'asked') call.bufferedPermissions.push(permission)
  else permission.emitQuestion()
}

function sessionOf(data: unknown): string | undefined {
  return (
    idOf(peek(data, 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'sessionID')) ??
    idOf(peek(peek(data, 'part'), 'sessionID')) ??
    idOf(peek(peek(data, 'info'), 'id'))
  )
}

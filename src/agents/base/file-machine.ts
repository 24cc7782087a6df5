import { idOf, peek } from '../../contract/foreign.ts'
import type { AgentSession } from './agent-loop.ts'
import type { EventHandler, EventHandlers, TimedEvent } from './event-machine.ts'
import { EventMachine, eventHandlers, handlersByName } from './event-machine.ts'
import { SessionStates } from './limited-map.ts'
import type { Records } from './records.ts'

type SessionHandler<Session> = (session: Session, at: number, data: unknown, context: unknown) => unknown
export type SessionHandlers<Session> = Readonly<Record<string, SessionHandler<Session>>>

/**
 * `findings`: events of the agent's files. `readEnd`: the event after them. `quiet`: hooks that yield no records. `findingsUntil`:
 * if defined, the time of the last finding that belongs before a hook; later ones wait for a later hook.
 */
export interface FileMachineTable<Session> {
  readonly hooks: SessionHandlers<Session>
  readonly findings: SessionHandlers<Session>
  readonly readEnd: string
  readonly readsFirst: ReadonlySet<string>
  readonly quiet?: readonly string[]
  readonly findingsUntil?: (hook: TimedEvent) => number
}

/**
 * Translates hooks, which fire at once and lack requests, and findings in the agent's files, which have requests and lag. The hooks
 * of `readsFirst` are processed after the findings, so that a request precedes the tools it asked for. If no file is read, for
 * example in a replay of hooks alone, they are processed with the next hook.
 */
export class FileMachine<Session extends AgentSession> extends EventMachine {
  readonly #table: FileMachineTable<Session>
  readonly #sessions: SessionStates<Session>
  protected readonly events: EventHandlers

  constructor(create: (records: Records, id: string) => Session, table: FileMachineTable<Session>) {
    super()
    this.#table = table
    this.#sessions = new SessionStates(id => create(this.records, id))
    const onHook = this.#inSession((session, moment) => {
      session.noteWorkspace(moment.data)
      this.receiveHook(session, moment)
    })
    const onFinding = this.#inSession((session, moment) => {
      if (!session.newerFindings.bufferIfNewer(moment)) this.#handleFinding(session, moment)
    })
    const onReadEnd = this.#inSession((session, { data }) => {
      session.noteWorkspace(data)
      this.#releaseHook(session, peek(data, 'goes_on') === true)
    })
    const hooks = handlersByName(Object.keys(table.hooks), () => onHook)
    const findings = handlersByName(Object.keys(table.findings), () => onFinding)
    this.events = eventHandlers({ ...hooks, ...findings, [table.readEnd]: onReadEnd }, table.quiet)
  }

  protected endSessions(): void {
    for (const session of this.#sessions.values()) this.#handleNewerFindings(session, Number.POSITIVE_INFINITY)
    for (const session of this.#sessions.values()) this.#releaseHook(session)
  }

  #inSession(handle: (session: Session, moment: TimedEvent) => void): EventHandler {
    return moment => {
      const id = idOf(peek(moment.data, 'session_id'))
      if (id !== undefined) handle(this.#sessions.get(id), moment)
    }
  }

  protected receiveHook(session: Session, moment: TimedEvent): void {
    this.#releaseHook(session)
    const { findingsUntil } = this.#table
    if (findingsUntil !== undefined) this.#handleNewerFindings(session, findingsUntil(moment))
    if (this.isReadFirst(session, moment)) session.bufferedHook = moment
    else this.#handleHook(session, moment)
  }

  protected isReadFirst(_session: Session, { event }: TimedEvent): boolean {
    return this.#table.readsFirst.has(event)
  }

  #handleNewerFindings(session: Session, hookAt: number): void {
    for (const moment of session.newerFindings.drainUntil(hookAt)) this.#handleFinding(session, moment)
  }

  #handleFinding(session: Session, { event, at, data, context }: TimedEvent): void {
    this.#table.findings[event]?.(session, at, data, context)
  }

  #releaseHook(session: Session, goesOn = false): void {
    const hook = session.takeBufferedHook(goesOn)
    if (hook !== undefined) this.#handleHook(session, hook)
  }

  #handleHook(session: Session, { event, at, data, context }: TimedEvent): void {
    this.#table.hooks[event]?.(session, at, data, context)
  }
}

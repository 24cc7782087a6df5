import { idOf, peek } from '../../contract/foreign.ts'
import type { AgentSession } from './agent-loop.ts'
import type { EventHandlers, TimedEvent } from './event-machine.ts'
import { EventMachine, eventHandlers, handlersByName } from './event-machine.ts'
import { SessionStates } from './limited-map.ts'
import type { Records } from './records.ts'

type SessionHandler<Session> = (session: Session, at: number, data: unknown, context: unknown) => unknown
export type SessionHandlers<Session> = Readonly<Record<string, SessionHandler<Session>>>

/** `findings`: events of the agent's files. `readEnd`: the event after them. `quiet`: hooks that yield no records. */
export interface FileMachineTable<Session> {
  readonly hooks: SessionHandlers<Session>
  readonly findings: SessionHandlers<Session>
  readonly readEnd: string
  readonly readsFirst: ReadonlySet<string>
  readonly quiet?: readonly string[]
}

/**
 * Translates hooks, which fire at once and lack requests, and findings in the agent's files, which have requests and lag. The hooks
 * of `readsFirst` are processed after the findings, so that a request precedes the tools it asked for. If no file is read, for
 * example in a replay of hooks alone, they are processed with the next hook.
 */
export class FileMachine<Session extends AgentSession> extends EventMachine {
  readonly #table: FileMachineTable<Session>
  protected readonly sessions: SessionStates<Session>
  protected readonly events: EventHandlers

  constructor(create: (records: Records, id: string) => Session, table: FileMachineTable<Session>) {
    super()
    this.#table = table
    this.sessions = new SessionStates(id => create(this.records, id))
    const names = [...Object.keys(table.hooks), ...Object.keys(table.findings), table.readEnd]
    this.events = eventHandlers(
      handlersByName(names, () => moment => this.#receive(moment)),
      table.quiet,
    )
  }

  protected endSessions(): void {
    for (const session of this.sessions.values()) this.#releaseHook(session)
  }

  #receive(moment: TimedEvent): void {
    const { event, data } = moment
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const session = this.sessions.get(id)
    if (event in this.#table.findings) {
      this.receiveFinding(session, moment)
      return
    }
    session.noteWorkspace(data)
    if (event === this.#table.readEnd) this.#releaseHook(session, peek(data, 'goes_on') === true)
    else this.receiveHook(session, moment)
  }

  protected receiveHook(session: Session, moment: TimedEvent): void {
    this.#releaseHook(session)
    this.noteHook?.(session, moment)
    if (this.isReadFirst(session, moment)) session.bufferedHook = moment
    else this.#handleHook(session, moment)
  }

  /** For machines whose findings wait for a hook. */
  protected noteHook?(session: Session, moment: TimedEvent): void

  protected isReadFirst(_session: Session, { event }: TimedEvent): boolean {
    return this.#table.readsFirst.has(event)
  }

  protected receiveFinding(session: Session, { event, at, data, context }: TimedEvent): void {
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

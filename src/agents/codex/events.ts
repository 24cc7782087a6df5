import { idOf, peek } from '../../contract/foreign.ts'
import { type EventHandlers, EventMachine, eventHandlers, type TimedEvent } from '../base/event-machine.ts'
import type { HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { askApproval, judged, returned, toolEnded, toolStarted } from './calls.ts'
import { answered, asked, failed } from './requests.ts'
import { type Loop, Session } from './session.ts'
import { interrupted, loopFor, over, prompted, sessionEnded, sessionStarted, stopped, whoseOf } from './turns.ts'
import { READS_FIRST } from './types.ts'

type Taking = (session: Session, at: number, data: unknown) => void

function ofLoop(take: (loop: Loop, at: number, data: unknown) => void): Taking {
  return (session, at, data) => {
    const whose = whoseOf(data)
    if (whose === undefined) return
    const loop = loopFor(session, at, whose, data)
    loop.lastAt = Math.max(loop.lastAt, at)
    take(loop, at, data)
  }
}

const HOOKS: Readonly<Record<string, Taking>> = {
  SessionStart: (session, _at, data) => sessionStarted(session, data),
  UserPromptSubmit: ofLoop(prompted),
  PreToolUse: ofLoop(toolStarted),
  PermissionRequest: ofLoop(askApproval),
  PostToolUse: ofLoop(toolEnded),
  // Only starts the turn.
  SubagentStart: ofLoop(() => undefined),
  SubagentStop: ofLoop(stopped),
  PreCompact: ofLoop((loop, at) => {
    loop.compaction = { at }
  }),
  PostCompact: ofLoop(loop => {
    loop.compaction = undefined
  }),
  Stop: ofLoop(stopped),
  Interrupt: ofLoop(interrupted),
  SessionEnd: sessionEnded,
}

/**
 * Translates Codex's hooks and rollouts. Hooks contain neither requests nor the status of tools. Hooks of `READS_FIRST` are
 * buffered until the rollout has been read.
 */
class CodexMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new Session(this.records, id))
  protected readonly events: EventHandlers = eventHandlers({
    ...Object.fromEntries(Object.keys(HOOKS).map(name => [name, (moment: TimedEvent) => this.#hook(moment)])),
    'rollout:call': this.#found(asked),
    'rollout:answer': this.#found(answered),
    'rollout:failure': this.#found(failed),
    'rollout:item': this.#found(judged),
    'rollout:output': this.#found(returned),
    'rollout:over': this.#found(over),
    'rollout:read': ({ data }) => {
      const session = this.#sessionOf(data)
      if (session !== undefined) release(session, peek(data, 'goes_on') === true)
    },
  })

  protected endSessions(): void {
    for (const session of this.#sessions.values()) release(session)
  }

  #sessionOf(data: unknown): Session | undefined {
    const id = idOf(peek(data, 'session_id'))
    return id === undefined ? undefined : this.#sessions.get(id)
  }

  #hook(moment: TimedEvent): void {
    const session = this.#sessionOf(moment.data)
    if (session === undefined) return
    release(session)
    if (READS_FIRST.has(moment.event)) session.held = moment
    else HOOKS[moment.event]?.(session, moment.at, moment.data)
  }

  /** Skips findings of turns without a received or buffered hook: they are history. */
  #found(read: (loop: Loop, data: unknown) => void): (moment: TimedEvent) => void {
    return ({ data }) => {
      const session = this.#sessionOf(data)
      const whose = whoseOf(data)
      if (session === undefined || whose === undefined) return
      const known = session.loop(whose.agentId, whose.turnId)
      const loop = known ?? loopOfHeld(session, whose.turnId)
      if (loop !== undefined) read(loop, data)
    }
  }
}

/** Returns the turn of the buffered hook, and starts it if it is unknown. */
function loopOfHeld(session: Session, turnId: string): Loop | undefined {
  const { held } = session
  const whose = whoseOf(held?.data)
  if (held === undefined || whose?.turnId !== turnId || held.event === 'SubagentStop') return undefined
  return loopFor(session, held.at, whose, held.data)
}

/** Processes the buffered hook. @param goesOn true if another hook made the agent go on, so that a stop is dropped */
function release(session: Session, goesOn = false): void {
  const { held } = session
  session.held = undefined
  if (held !== undefined && !goesOn) HOOKS[held.event]?.(session, held.at, held.data)
}

export function createCodexMachine(): HostMachine {
  return new CodexMachine()
}

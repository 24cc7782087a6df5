import { idOf, peek } from '../../contract/foreign.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  handlersByName,
  type TimedEvent,
} from '../base/event-machine.ts'
import { SessionStates } from '../session-states.ts'
import { handleItem, handleOutput, handlePermissionRequest, handleToolEnd, handleToolStart } from './calls.ts'
import { handleAnswer, handleCall, handleFailure } from './requests.ts'
import { type CodexLoop, CodexSession } from './session.ts'
import {
  handleInterrupt,
  handlePrompt,
  handleSessionEnd,
  handleSessionStart,
  handleStop,
  handleTurnEnd,
  loopFor,
  loopKeyOf,
} from './turns.ts'
import { READS_FIRST } from './types.ts'

type HookHandler = (session: CodexSession, at: number, data: unknown) => void

function ofLoop(handle: (loop: CodexLoop, at: number, data: unknown) => void): HookHandler {
  return (session, at, data) => {
    const key = loopKeyOf(data)
    if (key === undefined) return
    const loop = loopFor(session, at, key, data)
    loop.lastAt = Math.max(loop.lastAt, at)
    handle(loop, at, data)
  }
}

const HOOKS: Readonly<Record<string, HookHandler>> = {
  SessionStart: (session, _at, data) => handleSessionStart(session, data),
  UserPromptSubmit: ofLoop(handlePrompt),
  PreToolUse: ofLoop(handleToolStart),
  PermissionRequest: ofLoop(handlePermissionRequest),
  PostToolUse: ofLoop(handleToolEnd),
  SubagentStart: ofLoop(() => undefined),
  SubagentStop: ofLoop(handleStop),
  PreCompact: ofLoop((loop, at) => {
    loop.compaction = { at }
  }),
  PostCompact: ofLoop(loop => {
    loop.compaction = undefined
  }),
  Stop: ofLoop(handleStop),
  Interrupt: ofLoop(handleInterrupt),
  SessionEnd: handleSessionEnd,
}

/**
 * Translates Codex's hooks and rollouts. Hooks contain neither requests nor the status of tools. Hooks of `READS_FIRST` are
 * buffered until the rollout has been read.
 */
export class CodexMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new CodexSession(this.records, id))
  protected readonly events: EventHandlers = eventHandlers({
    ...handlersByName(Object.keys(HOOKS), () => moment => this.#handleHook(moment)),
    'rollout:call': this.#findingHandler(handleCall),
    'rollout:answer': this.#findingHandler(handleAnswer),
    'rollout:failure': this.#findingHandler(handleFailure),
    'rollout:item': this.#findingHandler(handleItem),
    'rollout:output': this.#findingHandler(handleOutput),
    'rollout:over': this.#findingHandler(handleTurnEnd),
    'rollout:read': ({ data }) => {
      const session = this.#sessionOf(data)
      session?.noteWorkspace(data)
      if (session !== undefined) releaseHook(session, peek(data, 'goes_on') === true)
    },
  })

  protected endSessions(): void {
    for (const session of this.#sessions.values()) releaseHook(session)
  }

  #sessionOf(data: unknown): CodexSession | undefined {
    const id = idOf(peek(data, 'session_id'))
    return id === undefined ? undefined : this.#sessions.get(id)
  }

  #handleHook(moment: TimedEvent): void {
    const session = this.#sessionOf(moment.data)
    if (session === undefined) return
    session.noteWorkspace(moment.data)
    releaseHook(session)
    if (READS_FIRST.has(moment.event)) session.bufferedHook = moment
    else HOOKS[moment.event]?.(session, moment.at, moment.data)
  }

  /** Skips findings of turns without a received or buffered hook: they are history. */
  #findingHandler(read: (loop: CodexLoop, data: unknown) => void): (moment: TimedEvent) => void {
    return ({ data }) => {
      const session = this.#sessionOf(data)
      const key = loopKeyOf(data)
      if (session === undefined || key === undefined) return
      const known = session.findLoop(key.agentId, key.turnId)
      const loop = known ?? loopOfBufferedHook(session, key.turnId)
      if (loop !== undefined) read(loop, data)
    }
  }
}

function loopOfBufferedHook(session: CodexSession, turnId: string): CodexLoop | undefined {
  const { bufferedHook } = session
  const key = loopKeyOf(bufferedHook?.data)
  if (bufferedHook === undefined || key?.turnId !== turnId || bufferedHook.event === 'SubagentStop') return undefined
  return loopFor(session, bufferedHook.at, key, bufferedHook.data)
}

/** Processes the buffered hook. @param goesOn true if another hook made the agent go on, so that a stop is dropped */
function releaseHook(session: CodexSession, goesOn = false): void {
  const hook = session.takeBufferedHook()
  if (hook !== undefined && !goesOn) HOOKS[hook.event]?.(session, hook.at, hook.data)
}

/**
 * The hook payloads and rollout findings of Codex, read from 0.169.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload. Its `session_id` is that of the user's session even in a
 *   child agent, whose hooks have an `agent_id` and their own turns.
 * - `rollout:…`: findings of `receiver-adapter.ts` in the rollout. They follow the hook that triggered the read. That hook is
 *   processed after them, so that a request precedes the tools it asked for.
 *
 * All findings have `session_id`, `agent_id` in a child agent, and `turn_id`. Those of requests have `started_at`, `model` and
 * `provider`: the rollout has a line when a request's input is complete, and none when it is sent. Times are epoch milliseconds,
 * from the rollout.
 *
 * - `rollout:call` {call_id, name, arguments, at}: a tool that the model requested, in an answer that may be incomplete. The name
 *   may differ from that in hooks: `exec_command` is `Bash` there.
 * - `rollout:answer` {response_id, usage, text, calls, ended_at}: `usage` is that of this answer alone; its input includes the
 *   cache. Only the token line contains `response_id`, so it is absent if the provider counts no tokens.
 * - `rollout:failure` {at, error: {type, message}, status}: the request at which a turn has failed. Earlier attempts that were
 *   retried are not in the rollout.
 * - `rollout:item` {call_id, at, status, exit_code, ran_at, agents: [{id, role}]}: the status of a tool, as Codex displays it.
 *   Not all tools have one. `ran_at` is when execution began, without the wait for an approval.
 * - `rollout:output` {call_id, at, output}
 * - `rollout:over` {at, outcome, reason, text}: the end of the turn, `completed`, `failed` or `interrupted`.
 * - `rollout:read` {goes_on}: the end of the findings.
 */
import { idOf, peek } from '../../contract/foreign.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  handlersByName,
  type TimedEvent,
} from '../base/event-machine.ts'
import { SessionStates } from '../base/limited-map.ts'
import {
  type CodexLoop,
  CodexSession,
  handleAnswer,
  handleCall,
  handleFailure,
  handleInterrupt,
  handleItem,
  handleOutput,
  handlePermissionRequest,
  handlePrompt,
  handleSessionEnd,
  handleSessionStart,
  handleStop,
  handleToolEnd,
  handleToolStart,
  handleTurnEnd,
  loopFor,
  loopKeyOf,
} from './session.ts'

/**
 * Hooks before which the rollout is read; they are processed after the findings. If none is read, for example in a replay of
 * hooks alone, they are processed with the next event.
 */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostCompact', 'SubagentStop', 'Stop', 'Interrupt'],
  ...['SessionEnd', 'SubagentStart'],
])

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
      const known = session.findLoop(key)
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

function releaseHook(session: CodexSession, goesOn = false): void {
  const hook = session.takeBufferedHook(goesOn)
  if (hook !== undefined) HOOKS[hook.event]?.(session, hook.at, hook.data)
}

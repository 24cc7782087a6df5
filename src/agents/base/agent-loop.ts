import { peek, textOf } from '../../contract/foreign.ts'
import type { Workspace } from '../../contract/index.ts'
import type { TimedEvent } from './event-machine.ts'
import { NewerFindings } from './findings.ts'
import { LimitedMap } from './limited-map.ts'
import type { Records, TurnResult } from './records.ts'
import type { DelegatedTask } from './tool.ts'
import { HostTurn } from './turn.ts'

export class AgentSession {
  readonly records: Records
  readonly id: string
  readonly platform: string
  provider: string | undefined
  /** The model of the last answer, or the initial one; `cwd`: of the first event with one, as later ones follow each `cd`. */
  model: string | undefined
  cwd: string | undefined
  repository: string | undefined
  branch: string | undefined
  isAnnounced = false
  /** A hook that is processed after the agent's files have been read. */
  bufferedHook: TimedEvent | undefined
  readonly newerFindings: NewerFindings = new NewerFindings()
  readonly #emittedIds = new LimitedMap<string, true>(10_000)

  constructor(records: Records, id: string, platform: string, provider?: string) {
    this.records = records
    this.id = id
    this.platform = platform
    this.provider = provider
  }

  get workspace(): Workspace {
    return { cwd: this.cwd, repository: this.repository, branch: this.branch }
  }

  noteWorkspace(facts: unknown): void {
    this.cwd ??= textOf(peek(facts, 'cwd'))
    this.repository = textOf(peek(facts, 'repository')) ?? this.repository
    this.branch = textOf(peek(facts, 'branch')) ?? this.branch
  }

  /** @param goesOn true if another hook made the agent go on, so that a stop is dropped */
  takeBufferedHook(goesOn = false): TimedEvent | undefined {
    const { bufferedHook } = this
    this.bufferedHook = undefined
    return goesOn ? undefined : bufferedHook
  }

  /** Returns true for an id that was not emitted yet: files are read again when a receiver starts. */
  isNew(id: string): boolean {
    if (this.#emittedIds.has(id)) return false
    this.#emittedIds.set(id, true)
    return true
  }
}

export interface LoopIds {
  /** The child agent whose loop it is; undefined for a turn of the session. */
  readonly agentId?: string | undefined
  readonly turnId: string
}

export interface LoopEnd {
  readonly outcome: TurnResult
  readonly reason?: string | undefined
  readonly text?: unknown
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export class AgentLoop<Session extends AgentSession = AgentSession> extends HostTurn {
  readonly session: Session
  readonly agentId: string | undefined
  model: string | undefined
  /** Undefined once emitted. */
  prompt: { readonly at: number; readonly text: unknown; readonly traceparent?: string | undefined } | undefined
  task: DelegatedTask | undefined

  constructor(session: Session, { agentId, turnId }: LoopIds, at: number, text?: unknown) {
    super(session.records, agentId ?? session.id, turnId, at)
    this.session = session
    this.agentId = agentId
    this.model = session.model
    this.prompt = { at, text }
  }

  emitPrompt(model?: string): void {
    this.model = model ?? this.model
    if (this.prompt === undefined) return
    const { at, text: user_message, traceparent } = this.prompt
    const { provider, platform, workspace } = this.session
    this.prompt = undefined
    this.emit('pre_llm_call', at, { user_message, model: this.model, provider, platform, traceparent, ...workspace })
  }

  announceSession(traceparent?: string): void {
    const { session, model, startAt } = this
    if (session.isAnnounced) return
    session.isAnnounced = true
    const { provider, platform, workspace } = session
    this.emit('on_session_start', startAt, { model, provider, platform, traceparent, ...workspace })
  }

  announceChild(role: string | undefined, parent_session_id: unknown): void {
    const { provider, platform } = this.session
    this.emit('on_session_start', this.startAt, { agent_name: role, provider, platform, parent_session_id })
  }

  /** Emits the answer and the end, for a loop whose requests and calls have ended. @param summary the result of a child's task */
  emitLoopEnd(at: number, { outcome, reason = outcome, text }: LoopEnd, summary: unknown = text): void {
    this.emitAnswer(at, text, this.model)
    this.emitEnd(at, { outcome, reason, model: this.model, platform: this.session.platform })
    this.task?.emitEnd(at, { status: outcome, summary })
  }
}

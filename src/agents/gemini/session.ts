import type { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { NewerFindings } from '../base/newer-findings.ts'
import type { Records } from '../base/records.ts'
import { RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'

export const PROVIDER = 'gemini'
export const PLATFORM = 'gemini-cli'

const CHILDREN_LIMIT = 1000
const FOUND_LIMIT = 10_000

export class Call extends Tool<Loop> {
  /** Name and input, the only identification of a call in hooks. */
  key: string
  approval: Approval | undefined
  /** The call was found in the file. */
  isFound = false

  constructor(turn: Loop, id: string, { key, name, args }: Pick<Use, 'key' | 'name' | 'args'>, startAt: number) {
    super(turn, id, name, startAt)
    this.key = key
    this.args = args
  }
}

/** A running tool whose loop is not known yet: hooks do not name the agent. Times are epoch milliseconds. */
export interface Use {
  key: string
  readonly name: unknown
  readonly args: unknown
  readonly startAt: number
  askedAt?: number
  /** The data of `AfterTool`. */
  end?: { readonly at: number; readonly response: unknown }
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export class Loop extends HostTurn {
  readonly session: Session
  /** Epoch milliseconds, as all times. */
  readonly startAt: number
  /** Emitted once the model is known, which no hook reports. */
  prompt: { readonly text: unknown } | undefined
  model: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  /** When the unanswered input was sent. */
  sentAt: number | undefined
  readonly requestOf: LimitedMap<string, string> = new LimitedMap(FOUND_LIMIT)
  /** Calls that were not found in the file yet, in order. */
  readonly calls: Set<Call> = new Set()
  toolCount = 0
  answer: unknown
  lastAt: number
  isOver = false

  constructor(session: Session, ids: Pick<Loop, 'sessionId' | 'turnId'>, at: number, text: unknown) {
    super(session.records, ids.sessionId, ids.turnId)
    this.session = session
    this.startAt = at
    this.lastAt = at
    this.prompt = { text }
    this.model = session.model
  }

  tellPrompt(model?: string): void {
    this.model = model ?? this.model
    if (this.prompt === undefined) return
    const { text } = this.prompt
    this.prompt = undefined
    const facts = { user_message: text, model: this.model, provider: PROVIDER, platform: PLATFORM }
    this.emit('pre_llm_call', this.startAt, facts)
  }
}

export interface Child {
  readonly agentId: string
  readonly loop: Loop
  readonly task: DelegatedTask
  readonly call: Call | undefined
}

export class Session {
  readonly records: Records
  readonly id: string
  model: string | undefined
  isAnnounced = false
  /** The session's end, which fires several times, has been emitted. */
  isFinalized = false
  turns = 0
  main: Loop | undefined
  /** A hook that is processed after the files have been read. */
  held: TimedEvent | undefined
  readonly newer: NewerFindings = new NewerFindings()
  /** The latest time of findings for the last hook. */
  newestAt: number = Number.POSITIVE_INFINITY
  readonly children: LimitedMap<string, Child> = new LimitedMap(CHILDREN_LIMIT)
  readonly uses: Set<Use> = new Set()
  /** Ids of emitted findings: files are read again when a receiver starts. */
  readonly found: LimitedMap<string, true> = new LimitedMap(FOUND_LIMIT)

  constructor(records: Records, id: string) {
    this.records = records
    this.id = id
  }

  isNew(id: string): boolean {
    if (this.found.has(id)) return false
    this.found.set(id, true)
    return true
  }

  get openChildren(): Child[] {
    return [...this.children.values()].filter(({ loop }) => !loop.isOver)
  }
}

import { canonicalUsage, NO_TOKENS, sumOf, type Tokens } from './canonical-usage.ts'
import { childTokens } from './child-tokens.ts'
import { outcomeOf } from './outcome.ts'
import { withoutRepeats } from './repeats.ts'
import { type Sums, Tally } from './tally.ts'
import type { WorkloadRecord } from './workload-record.ts'

/** What the workload comes to, counted from its hook records and nothing else. */
export interface Totals {
  readonly records: number
  readonly overall: Sums
  /** By `session_id`. A child's session is one of its own, and none of it is in its parent's. */
  readonly bySession: ReadonlyMap<string, Sums>
  /** By `turn_id`, which is unique in the workload; without what was told of a turn after its end. */
  readonly byTurn: ReadonlyMap<string, Sums>
  /** Tokens of a turn's children, by the `turn_id` of turns whose end was told. */
  readonly childTokens: ReadonlyMap<string, number>
  /** Tokens of those children that outlived their turn, by the `turn_id` of the outermost turn. */
  readonly outlivingTokens: ReadonlyMap<string, number>
  /** By the model that was asked, side calls included. */
  readonly byModel: ReadonlyMap<string, ModelTotals>
}

export interface ModelTotals {
  readonly model: string
  /** As the host spells it. */
  readonly provider: string
  /** Requests that got an answer. */
  readonly answered: number
  readonly tokens: Tokens
}

type Payload = WorkloadRecord['payload']

/** A call that was begun and has not been heard of since. */
interface Begun {
  readonly session: string | undefined
  readonly turn: string | undefined
  readonly payload: Payload
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** What was really asked for stands in the body of the request. */
function modelOf({ request, model }: Payload): string | undefined {
  const body = (request as { readonly body?: { readonly model?: unknown } } | undefined)?.body
  return text(body?.model) ?? text(model)
}

/**
 * Counts records by the rules of the hook contract. It keeps no turns open and draws no trees: a rule a hook, each with the
 * reason why it does not count something twice.
 */
class Accountant {
  readonly overall = new Tally()
  readonly sessions = new Map<string, Tally>()
  readonly turns = new Map<string, Tally>()
  readonly models = new Map<string, ModelTotals>()
  readonly #begun = new Map<string, Begun[]>()
  /** Questions to a guardian model that have no answer yet, by the id of the call. */
  readonly #guarded = new Map<string, Begun>()
  /** Where a turn began: a later record may name another session (it has rotated), or none (some approvals). */
  readonly #sessionOfTurn = new Map<string, string>()
  readonly #over = new Set<string>()

  hear({ hook, payload, meta }: WorkloadRecord): void {
    const turn = text(payload['turn_id']) ?? text(payload['parent_turn_id'])
    const session = text(payload['parent_session_id'] ?? undefined)
    const own = text(payload['session_id']) ?? (turn === undefined ? undefined : this.#sessionOfTurn.get(turn))
    // A delegation is told in the parent's terms; other hooks that name a parent are the child's own.
    const isDelegation = hook.startsWith('subagent_')
    const where = { session: isDelegation ? (session ?? own) : own, turn, payload }
    this.#noteTurn(where)
    if (!this.#isToldAgain(hook, where, meta.host)) this.#rules[hook]?.(where, meta.host)
  }

  readonly #rules: Readonly<Record<string, (told: Begun, host: string) => void>> = {
    // One attempt, one start: a retry starts again, under the same request id.
    pre_api_request: (told, host) => this.#begin('request', told, host),
    post_api_request: (told, host) => this.#use(this.#endRequest(told, host), told, false),
    // It costs nothing: what a provider charges for a failure nobody tells.
    api_request_error: (told, host) => {
      this.#endRequest(told, host)
      this.#count(told, 'failedAttempts')
      if (told.payload['retryable'] === true) this.#count(told, 'retries')
    },
    pre_auxiliary_call: (told, host) => this.#begin('side call', told, host),
    post_auxiliary_call: (told, host) => this.#endSideCall(told, host),
    pre_tool_call: (told, host) => this.#begin('tool', told, host),
    post_tool_call: (told, host) => {
      const begun = this.#end('tool', told, host)
      if (begun === undefined) this.#count(told, 'toolCalls')
      for (const tally of this.#tallies(begun ?? told)) tally.outcome(outcomeOf(told.payload))
      this.#escalate(text(told.payload['tool_call_id']) ?? '')
    },
    pre_approval_request: told => {
      this.#count(told, 'approvalsAsked')
      const call = text(told.payload['tool_call_id'])
      if (call !== undefined && told.payload['surface'] === 'smart') this.#guarded.set(call, told)
      else if (call !== undefined) this.#guarded.delete(call)
    },
    // An answer counts whether or not the question was heard.
    post_approval_response: told => {
      this.#guarded.delete(text(told.payload['tool_call_id']) ?? '')
      for (const tally of this.#tallies(told)) tally.choice(text(told.payload['choice']) ?? 'unknown')
    },
    // A question is a wait like an approval; one for an approval is told by those hooks, too.
    on_human_input_request: told => {
      if (told.payload['kind'] !== 'approval') this.#count(told, 'approvalsAsked')
    },
    on_human_input_resolved: told => {
      if (told.payload['kind'] === 'approval') return
      for (const tally of this.#tallies(told)) tally.choice(text(told.payload['outcome']) ?? 'unknown')
    },
    subagent_start: told => this.#count(told, 'children'),
    subagent_stop: told => {
      this.#count(told, 'childrenReturned')
      if (CHILD_FAILED.has(text(told.payload['child_status'] ?? told.payload['status'])?.toLowerCase() ?? '')) {
        this.#count(told, 'childrenFailed')
      }
    },
    // Some hosts ask for an approval when the turn has stopped for it: then the turn cannot say so any more.
    on_session_end: ({ turn }) => {
      if (turn !== undefined) this.#over.add(turn)
    },
  }

  /** A turn is counted where its id is heard first, in the session that says so. */
  #noteTurn({ turn, session }: Begun): void {
    if (turn === undefined || session === undefined || this.#sessionOfTurn.has(turn)) return
    this.#sessionOfTurn.set(turn, session)
    this.#count({ turn, session, payload: {} }, 'turns')
  }

  #begin(kind: Kind, told: Begun, host: string): void {
    const key = keyOf(kind, told, host)
    const queue = this.#begun.get(key) ?? []
    queue.push(told)
    this.#begun.set(key, queue)
    this.#count(told, COUNTED[kind])
  }

  /** A guardian model that has not answered when the call ends has passed the question on: its turn asked no person. */
  #escalate(call: string): void {
    const asked = this.#guarded.get(call)
    if (asked === undefined) return
    this.#guarded.delete(call)
    for (const tally of this.#tallies(asked)) tally.choice('escalated')
    if (asked.turn !== undefined) tallyIn(this.turns, asked.turn).count('approvalsAsked', -1)
  }

  /** Several calls under one key: tools without an id end first in, first out; of attempts the last one is under way. */
  #end(kind: Kind, told: Begun, host: string): Begun | undefined {
    const queue = this.#begun.get(keyOf(kind, told, host))
    return kind === 'tool' ? queue?.shift() : queue?.pop()
  }

  /** The end of something that has an id, and of which every start that was heard has had its end. */
  #isToldAgain(hook: string, told: Begun, host: string): boolean {
    const kind = ENDS[hook]
    if (kind === undefined || told.payload[ID[kind]] === undefined) return false
    return this.#begun.get(keyOf(kind, told, host))?.length === 0
  }

  #endRequest(told: Begun, host: string): Begun | undefined {
    const begun = this.#end('request', told, host)
    if (begun === undefined) this.#count(told, 'attempts')
    return begun
  }

  #endSideCall(told: Begun, host: string): void {
    const begun = this.#end('side call', told, host)
    if (begun === undefined) this.#count(told, 'sideCalls')
    if (hasFailed(told)) this.#count(told, 'failedSideCalls')
    this.#use(begun, told, true)
  }

  /**
   * Usage is read where a request ends, and only from its own field `usage`: what a response repeats inside, and what an
   * end of a turn or of a child sums up, is the same tokens told again.
   */
  #use(begun: Begun | undefined, told: Begun, isSideCall: boolean): void {
    const used = canonicalUsage(told.payload['usage'])
    const asked = { ...told.payload, ...begun?.payload }
    if (!hasFailed(told)) this.#useModel(asked, used ?? NO_TOKENS)
    if (used === undefined) return
    // The session is the one that asked: the id may have changed while the model was at work.
    for (const tally of this.#tallies(begun ?? told)) tally.tokens(used, isSideCall)
  }

  #useModel(asked: Payload, used: Tokens): void {
    const model = modelOf(asked) ?? 'unknown'
    const provider = text(asked['provider']) ?? 'unknown'
    const before = this.models.get(`${provider} ${model}`) ?? { model, provider, answered: 0, tokens: NO_TOKENS }
    this.models.set(`${provider} ${model}`, {
      ...before,
      answered: before.answered + 1,
      tokens: sumOf(before.tokens, used),
    })
  }

  #count(where: Begun, what: Parameters<Tally['count']>[0]): void {
    for (const tally of this.#tallies(where)) tally.count(what)
  }

  #tallies({ session, turn }: Begun): Tally[] {
    return [
      this.overall,
      ...(session === undefined ? [] : [tallyIn(this.sessions, session)]),
      ...(turn === undefined || this.#over.has(turn) ? [] : [tallyIn(this.turns, turn)]),
    ]
  }
}

const CHILD_FAILED = new Set('error errored failed failure cancelled canceled timeout timed_out'.split(' '))

type Kind = 'request' | 'side call' | 'tool'

const ENDS: Readonly<Record<string, Kind>> = {
  post_api_request: 'request',
  api_request_error: 'request',
  post_auxiliary_call: 'side call',
  post_tool_call: 'tool',
}

const ID = { request: 'api_request_id', 'side call': 'api_request_id', tool: 'tool_call_id' } as const

function hasFailed({ payload }: Begun): boolean {
  return text(payload['error_type']) !== undefined || Boolean(payload['error'])
}

const COUNTED = { request: 'attempts', 'side call': 'sideCalls', tool: 'toolCalls' } as const

/** The id of a call is its own inside its turn; without one, what is left to go by. */
function keyOf(kind: Kind, { session, turn, payload }: Begun, host: string): string {
  const id = payload[ID[kind]]
  const fallback = kind === 'tool' ? payload['tool_name'] : (payload['api_call_count'] ?? payload['aux_task'])
  return JSON.stringify([kind, host, turn ?? session, id ?? null, id === undefined ? fallback : null])
}

function tallyIn(tallies: Map<string, Tally>, key: string): Tally {
  const known = tallies.get(key) ?? new Tally()
  tallies.set(key, known)
  return known
}

export function totalsOf(records: readonly WorkloadRecord[]): Totals {
  const accountant = new Accountant()
  const once = withoutRepeats(records)
  for (const record of once) accountant.hear(record)
  const summed = (tallies: ReadonlyMap<string, Tally>): Map<string, Sums> =>
    new Map([...tallies].map(([key, tally]) => [key, tally.sums()]))
  const byTurn = summed(accountant.turns)
  const { inTime, afterwards } = childTokens(once, turn => byTurn.get(turn)?.tokens.total ?? 0)
  return {
    records: records.length,
    overall: accountant.overall.sums(),
    bySession: summed(accountant.sessions),
    byTurn,
    childTokens: inTime,
    outlivingTokens: afterwards,
    byModel: accountant.models,
  }
}

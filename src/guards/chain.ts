import { isDeepStrictEqual } from 'node:util'
import { ignoreErrors, textOf } from '../contract/foreign.ts'
import { type About, ChainContext } from './context.ts'
import { frozenCopy, isPlain } from './frozen-copy.ts'
import { type AnyHook, decisionsIn, type HookContext, maskedLine, transforms } from './hook.ts'
import { inTime, STOPPED, TOO_LATE } from './in-time.ts'
import { type EventOf, PHASES, type Phase, type ValueOf } from './phases.ts'
import type { ToolArguments } from './tool-call.ts'
import { type Decision, type InjectedRole, pass } from './verdict.ts'

export const DEFAULT_PRIORITY = 200

const PASSED = pass()
const NO_VERDICT = 'it returned no verdict'

export function failClosedReason(hook: string): string {
  return `The hook ${hook} failed to check this, and is set to block on failure.`
}

/** Runs above this duration are traced one by one, even if they passed. */
const LONG_MILLIS = 1

interface Member {
  readonly hook: AnyHook
  readonly decisions: ReadonlySet<Decision>
  readonly passed: HookRun
}

function memberOf(hook: AnyHook, phase: Phase): Member {
  const passed: HookRun = {
    hook: hook.name,
    priority: hook.priority ?? DEFAULT_PRIORITY,
    judges: !transforms(hook, phase),
    verdict: 'pass',
    reason: undefined,
    detail: undefined,
    rewrittenFields: Object.freeze([]),
    failure: undefined,
    failureMessage: undefined,
    startAt: 0,
    durationMillis: 0,
  }
  return { hook, decisions: new Set<Decision>(['pass', ...decisionsIn(hook, phase)]), passed }
}

export const NO_DECISION = {
  decision: 'pass',
  by: undefined,
  reason: undefined,
  detail: undefined,
  delayMillis: undefined,
} as const

const CLOCKS_APART_MILLIS = 1000
let cachedOrigin = Number.NaN

/**
 * `Date.now()` at the moment `performance.now()` was 0. Cached, because `Date.now()` counts whole milliseconds and a fresh
 * value each time could reorder runs. Recomputed if the clocks drift apart, for example after the machine slept.
 */
function timeOrigin(now: number): number {
  const here = Date.now() - now
  if (!(Math.abs(here - cachedOrigin) < CLOCKS_APART_MILLIS)) cachedOrigin = here
  return cachedOrigin
}

type HookFunction = (event: unknown, context: HookContext) => unknown

export type Chain = readonly Member[]

export function chainOf(phase: Phase, hooks: readonly AnyHook[]): Chain {
  const concerned = hooks.filter(hook => hook[phase] !== undefined)
  const members = concerned.map(hook => memberOf(hook, phase)).sort((a, b) => a.passed.priority - b.passed.priority)
  if (PHASES[phase].isAfter) members.reverse()
  // Hooks that only judge run last, so that they judge the rewritten value.
  return [...members.filter(({ passed }) => !passed.judges), ...members.filter(({ passed }) => passed.judges)]
}

/**
 * One run of the hooks: synchronous if all of them answer synchronously. Never throws, never rejects.
 *
 * `event`: frozen, with a readable value. `limitMillis`: for all hooks together.
 */
export class ChainRun<P extends Phase> {
  readonly #phase: P
  readonly #members: Chain
  #context: ChainContext
  readonly #signal: AbortSignal | undefined
  readonly #runs: HookRun[] = []
  readonly #injected: Injection[] = []
  readonly #deadline: number
  #event: EventOf<P>
  #isRewritten = false
  #decision: (DecidingVerdict & { readonly by: string }) | undefined
  #next = 0
  #startedAt: number

  constructor(phase: P, members: Chain, event: EventOf<P>, about: About, limitMillis: number) {
    this.#phase = phase
    this.#members = members
    this.#event = event
    this.#context = new ChainContext(phase, about)
    this.#signal = about.signal
    this.#startedAt = performance.now()
    this.#deadline = this.#startedAt + limitMillis
  }

  run(): Outcome<P> | Promise<Outcome<P>> {
    const members = this.#members
    for (let member = members[this.#next]; member !== undefined; member = members[++this.#next]) {
      if (this.#startedAt >= this.#deadline) this.#recordFailure(member, 'timed_out', 'no time was left for it')
      else {
        try {
          const answer = (member.hook[this.#phase] as HookFunction)(this.#event, this.#context)
          if (isThenable(answer)) return this.#wait(member, answer)
          this.#handleAnswer(member, answer)
        } catch (error) {
          this.#recordFailure(member, 'threw', error)
        }
      }
      if (this.#decision?.decision === 'block') break
    }
    return this.#outcome()
  }

  async #wait(member: Member, answer: PromiseLike<unknown>): Promise<Outcome<P>> {
    const own = member.hook.timeLimitMillis ?? Number.POSITIVE_INFINITY
    const left = Math.min(own, this.#deadline - this.#startedAt)
    try {
      const settled = await inTime(answer, left, this.#signal)
      if (settled === TOO_LATE) {
        this.#context = ChainContext.replaceTimedOut(this.#context)
        this.#recordFailure(member, 'timed_out', `no answer within ${Math.round(left)} ms`)
      } else if (settled === STOPPED) this.#handleAbort(member)
      else this.#handleAnswer(member, settled)
    } catch (error) {
      if (this.#signal?.aborted) this.#handleAbort(member)
      else this.#recordFailure(member, 'threw', error)
    }
    if (this.#decision?.decision === 'block') return this.#outcome()
    this.#next++
    return this.run()
  }

  #handleAnswer(member: Member, returned: unknown): void {
    if (returned === undefined || returned === PASSED) {
      this.#recordRun(member, 'pass')
      return
    }
    const fault = this.#applyVerdict(member, returned)
    if (fault !== undefined) this.#recordFailure(member, 'nonsense', fault)
  }

  /**
   * Returns the fault of an invalid verdict. Each property is read exactly once: a getter could return a different value the
   * second time.
   */
  #applyVerdict(member: Member, returned: unknown): string | undefined {
    if (typeof returned !== 'object' || returned === null) return NO_VERDICT
    const verdict = returned as Readonly<Record<string, unknown>>
    const decision = verdict['decision'] as Decision
    const { name } = member.hook
    if (typeof decision !== 'string') return NO_VERDICT
    if (!PHASES[this.#phase].decisions.has(decision))
      return `it decided "${decision.slice(0, 40)}", which is nothing that ${this.#phase} can do`
    if (!member.decisions.has(decision)) return `it decided "${decision}", which its "decisions" does not name`
    const handed = verdict['metadata']
    if (handed !== undefined && !isPlain(handed)) return 'its metadata is not an object'
    const metadata = frozenCopy(handed)
    switch (decision) {
      case 'pass':
        this.#recordRun(member, 'pass')
        break
      case 'block': {
        // The intent to block is clear, so a missing reason must not let the call pass.
        const reason = textOf(verdict['reason']) ?? `The hook ${name} has blocked this.`
        this.#recordDecision(member, { decision, reason, detail: textOf(verdict['detail']) })
        break
      }
      case 'ask': {
        const reason = textOf(verdict['question']) ?? `The hook ${name} asks whether this may go on.`
        this.#recordDecision(member, { decision, reason })
        break
      }
      case 'rewrite':
        if (this.#applyRewrite(member, frozenCopy(verdict['value']))) break
        return 'its rewrite does not have the shape of the input'
      case 'inject': {
        const { text, role } = verdict
        if (typeof text !== 'string' || text === '') return 'its "inject" has no text'
        if (role !== 'system' && role !== 'user') return 'its "inject" is neither for "system" nor for "user"'
        this.#injected.push({ text, role, by: name })
        this.#recordRun(member, 'inject')
        break
      }
      case 'retry': {
        const { feedback, delayMillis } = verdict as { feedback?: unknown; delayMillis?: number }
        if (delayMillis !== undefined && !(Number.isFinite(delayMillis) && delayMillis >= 0))
          return 'the delay of its "retry" is no number of milliseconds'
        this.#recordDecision(member, { decision, reason: textOf(feedback), delayMillis })
      }
    }
    if (metadata !== undefined) ChainContext.addMetadata(this.#context, metadata)
    return undefined
  }

  #applyRewrite(member: Member, value: unknown): boolean {
    const row = PHASES[this.#phase]
    const event = row.rewritten(this.#event, value)
    if (event === undefined) return false
    const fields = changedFields(this.#phase, row.valueOf(this.#event), row.valueOf(event))
    if (fields.length > 0) {
      this.#event = frozenCopy(event)
      this.#isRewritten = true
    }
    this.#recordRun(member, fields.length > 0 ? 'rewrite' : 'pass', { rewrittenFields: fields })
    return true
  }

  /** The first ask or retry wins; a block overrides both. */
  #recordDecision(member: Member, verdict: DecidingVerdict): void {
    const { decision, reason, detail } = verdict
    if (this.#decision === undefined || decision === 'block') this.#decision = { ...verdict, by: member.hook.name }
    this.#recordRun(member, decision, { reason, detail })
  }

  #recordFailure(member: Member, failure: Failure, cause: unknown): void {
    const message = (): string => maskedLine(String(cause instanceof Error ? cause.message : cause), MESSAGE_LIMIT)
    const failureMessage = ignoreErrors(message) ?? 'it threw an unreadable error'
    const { name, onFailure = 'pass' } = member.hook
    const line = `hook ${name} failed in ${this.#phase}, which counts as ${onFailure}: ${failureMessage}`
    ignoreErrors(() => this.#context.logger.warn(line))
    if (onFailure === 'block') this.#blockOnFailure(member, failureMessage)
    this.#recordRun(member, 'failed', { failure, failureMessage })
  }

  /** The agent is being stopped. This is no failure, but `onFailure: 'block'` still blocks. */
  #handleAbort(member: Member): void {
    this.#startedAt = performance.now()
    if (member.hook.onFailure === 'block') this.#blockOnFailure(member, 'the agent was stopped meanwhile')
  }

  /** The failure message goes to the user only, because an error text may contain anything. */
  #blockOnFailure({ hook }: Member, detail: string): void {
    this.#decision = { decision: 'block', by: hook.name, reason: failClosedReason(hook.name), detail }
  }

  #recordRun(member: Member, verdict: HookRun['verdict'], more: Partial<HookRun> = {}): void {
    const now = performance.now()
    const began = this.#startedAt
    const durationMillis = now - began
    this.#startedAt = now
    if (verdict === 'pass' && durationMillis < LONG_MILLIS) {
      this.#runs.push(member.passed)
      return
    }
    const startAt = timeOrigin(now) + began
    this.#runs.push({ ...member.passed, ...more, verdict, startAt, durationMillis })
  }

  #outcome(): Outcome<P> {
    return {
      ...NO_DECISION,
      ...this.#decision,
      value: PHASES[this.#phase].valueOf(this.#event),
      isRewritten: this.#isRewritten,
      injected: this.#injected,
      runs: this.#runs,
    }
  }
}

function isThenable(answer: unknown): answer is PromiseLike<unknown> {
  return typeof answer === 'object' && answer !== null && typeof (answer as { then?: unknown }).then === 'function'
}

const MESSAGE_LIMIT = 300

/** The way a hook failed. `nonsense`: it returned an invalid verdict. */
export type Failure = 'threw' | 'timed_out' | 'nonsense'

/** The result of one hook in one phase. */
export interface HookRun {
  /** The hook's name. */
  readonly hook: string
  /** The hook's priority. */
  readonly priority: number
  /** The hook runs after those that rewrite, and judges their result. */
  readonly judges: boolean
  /** The hook's decision. */
  readonly verdict: Decision | 'failed'
  /** For the model if blocked, the question of an ask, the feedback of a retry. */
  readonly reason: string | undefined
  /** Details for the user. */
  readonly detail: string | undefined
  /** The names of the changed arguments, or of the changed value. */
  readonly rewrittenFields: readonly string[]
  /** Undefined if the hook did not fail. */
  readonly failure: Failure | undefined
  /** The error message, or the fault in the returned verdict. */
  readonly failureMessage: string | undefined
  /** Epoch milliseconds. 0 for a fast pass, which is only counted. */
  readonly startAt: number
  /** Milliseconds. */
  readonly durationMillis: number
}

/** Text that a hook injects for the model. */
export interface Injection {
  /** The injected text. */
  readonly text: string
  /** The role of the text. */
  readonly role: InjectedRole
  /** The hook's name. */
  readonly by: string
}

/** The combined result of all hooks. `value` and `injected` are valid with `pass`, `ask` and `retry`. */
export interface Outcome<P extends Phase> {
  /** The decision to apply. */
  readonly decision: 'pass' | 'block' | 'ask' | 'retry'
  /** The hook that decided; undefined if the decision is `pass`. */
  readonly by: string | undefined
  /** For the model if blocked, the question of an ask, the feedback of a retry. */
  readonly reason: string | undefined
  /** Details of a block, for the user. */
  readonly detail: string | undefined
  /** The delay before a retry, in milliseconds. */
  readonly delayMillis: number | undefined
  /** The value after all rewrites, frozen. */
  readonly value: ValueOf<P>
  /** `value` differs from the input. */
  readonly isRewritten: boolean
  /** The injected texts, in order. */
  readonly injected: readonly Injection[]
  /** One entry for each hook that ran. */
  readonly runs: readonly HookRun[]
}

interface DecidingVerdict {
  readonly decision: 'block' | 'ask' | 'retry'
  readonly reason: string | undefined
  readonly detail?: string | undefined
  readonly delayMillis?: number | undefined
}

export function changedFields(phase: Phase, before: unknown, after: unknown): readonly string[] {
  if (isDeepStrictEqual(before, after)) return []
  if (phase === 'beforeTool') {
    const [old, now] = [before as ToolArguments, after as ToolArguments]
    const keys = new Set([...Object.keys(old), ...Object.keys(now)])
    return [...keys].filter(key => !isDeepStrictEqual(old[key], now[key]))
  }
  return [PHASES[phase].field]
}

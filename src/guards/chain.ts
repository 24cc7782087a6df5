import { redactWithin } from '../content/clip.ts'
import { oneLine } from '../content/one-line.ts'
import { createRedactor } from '../content/redaction.ts'
import { type Answer, answerOf, changedFields } from './answers.ts'
import { type About, Context } from './context.ts'
import { frozenCopy } from './frozen-copy.ts'
import { type AnyHook, decisionsIn, type HookContext, transforms } from './hook.ts'
import { inTime, STOPPED, TOO_LATE } from './in-time.ts'
import type { Failure, HookRun, Injection, Outcome } from './outcome.ts'
import { type EventOf, PHASES, type Phase } from './phases.ts'
import { quietly } from './quietly.ts'
import { type Decision, pass } from './verdict.ts'

export const DEFAULT_PRIORITY = 200

const PASSED = pass()

/** The reason given to the model if a hook failed and `onFailure` is `block`. */
export function couldNotJudge(hook: string): string {
  return `The hook ${hook} could not judge this, and is set to block then.`
}

/** Runs above this duration are traced one by one, even if they passed. */
const LONG_MILLIS = 1
const NOTHING_SAID = Object.freeze({
  reason: undefined,
  detail: undefined,
  rewrittenFields: Object.freeze([]) as readonly string[],
  failure: undefined,
  failureMessage: undefined,
})

interface Member {
  readonly hook: AnyHook
  readonly priority: number
  readonly judges: boolean
  readonly decides: ReadonlySet<Decision>
  /** The shared result of a fast pass, so that it allocates nothing. */
  readonly passed: HookRun
}

function memberOf(hook: AnyHook, phase: Phase): Member {
  const priority = hook.priority ?? DEFAULT_PRIORITY
  const judges = !transforms(hook, phase)
  const passed = {
    hook: hook.name,
    priority,
    judges,
    verdict: 'pass',
    ...NOTHING_SAID,
    startAt: 0,
    durationMillis: 0,
  } as const
  return { hook, priority, judges, decides: new Set<Decision>(['pass', ...decisionsIn(hook, phase)]), passed }
}

const CLOCKS_APART_MILLIS = 1000
let zero = Number.NaN

/**
 * `Date.now()` at the moment `performance.now()` was 0. Cached, because `Date.now()` counts whole milliseconds and a fresh
 * value each time could reorder runs. Recomputed if the clocks drift apart, for example after the machine slept.
 */
function epochOfZero(now: number): number {
  const here = Date.now() - now
  if (!(Math.abs(here - zero) < CLOCKS_APART_MILLIS)) zero = here
  return zero
}

type Asked = (event: unknown, context: HookContext) => unknown

/** The hooks of one phase, in the order in which they run. */
export class Chain<P extends Phase> {
  readonly phase: P
  readonly members: readonly Member[]

  /** @param hooks the hooks that have this phase, in the order in which they were given */
  constructor(phase: P, hooks: readonly AnyHook[]) {
    this.phase = phase
    const members = hooks.map(hook => memberOf(hook, phase)).sort((a, b) => a.priority - b.priority)
    if (PHASES[phase].isAfter) members.reverse()
    // Hooks that only judge run last, so that they judge the rewritten value.
    this.members = [...members.filter(({ judges }) => !judges), ...members.filter(({ judges }) => judges)]
  }

  /**
   * Runs the hooks: synchronously if all of them answer synchronously. Never throws, never rejects.
   *
   * @param event frozen, with a readable value
   * @param limitMillis for all hooks together
   */
  run(event: EventOf<P>, about: About, limitMillis: number): Outcome<P> | Promise<Outcome<P>> {
    return new ChainRun(this, event, about, limitMillis).run()
  }
}

/** The decision so far, while the phase runs. */
interface Standing {
  readonly decision: 'block' | 'ask' | 'retry'
  readonly by: string
  readonly reason: string | undefined
  readonly detail: string | undefined
  readonly delayMillis: number | undefined
}

class ChainRun<P extends Phase> {
  readonly #chain: Chain<P>
  #context: Context
  readonly #signal: AbortSignal | undefined
  readonly #runs: HookRun[] = []
  readonly #injected: Injection[] = []
  readonly #deadline: number
  #event: EventOf<P>
  #isRewritten = false
  #standing: Standing | undefined
  #next = 0
  /** Start of the current hook, by `performance.now()`. */
  #began: number
  constructor(chain: Chain<P>, event: EventOf<P>, about: About, limitMillis: number) {
    this.#chain = chain
    this.#event = event
    this.#context = new Context(chain.phase, about)
    this.#signal = about.signal
    this.#began = performance.now()
    this.#deadline = this.#began + limitMillis
  }

  run(): Outcome<P> | Promise<Outcome<P>> {
    const { members, phase } = this.#chain
    for (let member = members[this.#next]; member !== undefined; member = members[++this.#next]) {
      if (this.#began >= this.#deadline) this.#failed(member, 'timed_out', 'no time was left for it')
      else {
        try {
          const answer = (member.hook[phase] as Asked)(this.#event, this.#context)
          if (isThenable(answer)) return this.#wait(member, answer)
          this.#answered(member, answer)
        } catch (error) {
          this.#failed(member, 'threw', error)
        }
      }
      if (this.#standing?.decision === 'block') break
    }
    return this.#outcome()
  }

  async #wait(member: Member, answer: PromiseLike<unknown>): Promise<Outcome<P>> {
    const own = member.hook.timeLimitMillis ?? Number.POSITIVE_INFINITY
    const left = Math.min(own, this.#deadline - this.#began)
    try {
      const settled = await inTime(answer, left, this.#signal)
      if (settled === TOO_LATE) {
        this.#context = Context.giveUp(this.#context)
        this.#failed(member, 'timed_out', `no answer within ${Math.round(left)} ms`)
      } else if (settled === STOPPED) this.#stopped(member)
      else this.#answered(member, settled)
    } catch (error) {
      if (this.#signal?.aborted) this.#stopped(member)
      else this.#failed(member, 'threw', error)
    }
    if (this.#standing?.decision === 'block') return this.#outcome()
    this.#next++
    return this.run()
  }

  #answered(member: Member, said: unknown): void {
    if (said === undefined || said === PASSED) {
      this.#ran(member, 'pass')
      return
    }
    const { name } = member.hook
    const answer = answerOf(said, name, this.#chain.phase, member.decides)
    if (typeof answer === 'string') {
      this.#failed(member, 'nonsense', answer)
      return
    }
    switch (answer.decision) {
      case 'pass':
        this.#ran(member, 'pass')
        break
      case 'rewrite':
        if (!this.#rewritten(member, answer.value)) return
        break
      case 'inject':
        this.#injected.push({ text: answer.text, role: answer.role, by: name })
        this.#ran(member, 'inject')
        break
      default:
        this.#decided(member, answer.decision, answer)
    }
    if (answer.metadata !== undefined) Context.handOn(this.#context, answer.metadata)
  }

  /** @returns whether the value is a valid rewrite */
  #rewritten(member: Member, value: unknown): boolean {
    const row = PHASES[this.#chain.phase]
    const before = row.valueOf(this.#event)
    const event = row.rewritten(this.#event, value)
    if (event === undefined) {
      this.#failed(member, 'nonsense', 'its rewrite is not of the shape that it was given')
      return false
    }
    const fields = changedFields(this.#chain.phase, before, row.valueOf(event))
    if (fields.length > 0) {
      this.#event = frozenCopy(event)
      this.#isRewritten = true
    }
    this.#ran(member, fields.length > 0 ? 'rewrite' : 'pass', { rewrittenFields: fields })
    return true
  }

  /** The first ask or retry wins; a block overrides both. */
  #decided(member: Member, decision: Standing['decision'], { reason, detail, delayMillis }: Answer): void {
    if (this.#standing === undefined || decision === 'block')
      this.#standing = { decision, by: member.hook.name, reason, detail, delayMillis }
    this.#ran(member, decision, { reason, detail })
  }

  #failed(member: Member, failure: Failure, cause: unknown): void {
    const failureMessage = messageOf(cause)
    const { name, onFailure = 'pass' } = member.hook
    const line = `hook ${name} failed in ${this.#chain.phase}, which counts as ${onFailure}: ${failureMessage}`
    quietly(() => this.#context.logger.warn(line))
    if (onFailure === 'block') this.#close(member, failureMessage)
    this.#ran(member, 'failed', { failure, failureMessage })
  }

  /** The agent is being stopped. This is no failure, but `onFailure: 'block'` still blocks. */
  #stopped(member: Member): void {
    this.#began = performance.now()
    if (member.hook.onFailure === 'block') this.#close(member, 'the agent was stopped meanwhile')
  }

  /** The failure message goes to the user only, because an error text may contain anything. */
  #close({ hook }: Member, detail: string): void {
    const { name: by } = hook
    this.#standing = { decision: 'block', by, reason: couldNotJudge(by), detail, delayMillis: undefined }
  }

  #ran(member: Member, verdict: HookRun['verdict'], more: Partial<HookRun> = NOTHING_SAID): void {
    const now = performance.now()
    const began = this.#began
    const durationMillis = now - began
    this.#began = now
    if (verdict === 'pass' && durationMillis < LONG_MILLIS) {
      this.#runs.push(member.passed)
      return
    }
    const startAt = epochOfZero(now) + began
    this.#runs.push({ ...member.passed, ...more, verdict, startAt, durationMillis })
  }

  #outcome(): Outcome<P> {
    const standing = this.#standing
    return {
      decision: standing?.decision ?? 'pass',
      by: standing?.by,
      reason: standing?.reason,
      detail: standing?.detail,
      delayMillis: standing?.delayMillis,
      value: PHASES[this.#chain.phase].valueOf(this.#event),
      isRewritten: this.#isRewritten,
      injected: this.#injected,
      runs: this.#runs,
    }
  }
}

function isThenable(answer: unknown): answer is PromiseLike<unknown> {
  return typeof answer === 'object' && answer !== null && typeof (answer as { then?: unknown }).then === 'function'
}

/** Error messages may quote secrets. */
const masked = createRedactor({ enabled: true, patterns: [] })
const MESSAGE_LIMIT = 300

function messageOf(cause: unknown): string {
  try {
    const message: unknown = typeof cause === 'string' ? cause : cause instanceof Error ? cause.message : String(cause)
    return redactWithin({ text: oneLine(String(message)), isCut: false }, MESSAGE_LIMIT, masked).text.slice(
      0,
      MESSAGE_LIMIT,
    )
  } catch {
    return 'it threw what cannot be read'
  }
}

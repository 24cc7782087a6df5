import { Chain, couldNotJudge, DEFAULT_PRIORITY } from './chain.ts'
import type { About } from './context.ts'
import { frozenCopy, isPlain } from './frozen-copy.ts'
import { type AnyHook, decisionsIn } from './hook.ts'
import type { Outcome } from './outcome.ts'
import { type EventOf, PHASE_NAMES, PHASES, type Phase, type ValueOf } from './phases.ts'
import { quietly } from './quietly.ts'
import type { Decision } from './verdict.ts'

/** Below the 15 s after which the strictest host that waits decides by itself. */
const TIME_LIMIT_MILLIS = 10_000

/** What holds for all hooks together. */
export interface CreateHooksOptions {
  /** For all hooks of a phase together. A host that waits for less has less. Default 10 000. */
  readonly timeLimitMillis?: number | undefined
}

/** What is known of a hook before it has run. */
export interface HookInfo {
  /** Its name. */
  readonly name: string
  /** Lower comes first before something happens. */
  readonly priority: number
  /** Where it is asked. */
  readonly phases: readonly Phase[]
  /** What it decides in any phase, beside `pass`. */
  readonly decides: readonly Decision[]
  /** What it decides in each of its phases. */
  readonly decidesIn: { readonly [P in Phase]?: readonly Decision[] }
  /** What a failure of it means. */
  readonly onFailure: 'pass' | 'block'
  /** Nobody has said what a failure of it means. */
  readonly isFailureUnsaid: boolean
}

/** Hooks, ready to be asked. They know no host. */
export interface ControlHooks {
  /** By priority. */
  readonly hooks: readonly HookInfo[]
  /** Whether any hook has this phase. */
  handles(phase: Phase): boolean
  /**
   * Asks the hooks of a phase: at once where they answer at once. Never throws, and never rejects.
   *
   * @param limitMillis what the host waits for at most
   */
  run<P extends Phase>(
    phase: P,
    event: EventOf<P>,
    about: About,
    limitMillis?: number,
  ): Outcome<P> | Promise<Outcome<P>>
}

type Chains = { readonly [P in Phase]: Chain<P> }

class Hooks implements ControlHooks {
  readonly hooks: readonly HookInfo[]
  readonly #timeLimitMillis: number
  readonly #chains: Chains
  readonly #phases: ReadonlySet<Phase>

  constructor(given: readonly AnyHook[], timeLimitMillis: number) {
    this.#timeLimitMillis = timeLimitMillis
    this.hooks = given.map(infoOf).sort((a, b) => a.priority - b.priority)
    this.#phases = new Set(this.hooks.flatMap(({ phases }) => phases))
    const chains = PHASE_NAMES.map(phase => {
      const hooks = given.filter(hook => typeof hook[phase] === 'function')
      return [phase, new Chain(phase, hooks)]
    })
    this.#chains = Object.fromEntries(chains) as unknown as Chains
  }

  handles(phase: Phase): boolean {
    return this.#phases.has(phase)
  }

  run<P extends Phase>(
    phase: P,
    event: EventOf<P>,
    about: About,
    limitMillis?: number,
  ): Outcome<P> | Promise<Outcome<P>> {
    const limit = isLimit(limitMillis) ? Math.min(limitMillis, this.#timeLimitMillis) : this.#timeLimitMillis
    const read = readOnce(phase, event)
    if (read !== undefined) return this.#chains[phase].run(read, about, limit)
    return this.#unreadable(phase, event, about)
  }

  /** Nobody can judge what nobody can read: that is a failure of all who would have been asked. */
  #unreadable<P extends Phase>(phase: P, event: EventOf<P>, { host, logger }: About): Outcome<P> {
    const closed = this.hooks.find(hook => hook.phases.includes(phase) && hook.onFailure === 'block')
    const detail = `what ${host} has handed over in ${phase} cannot be read`
    const counted = closed === undefined ? 'pass' : 'block'
    quietly(() => logger.warn(`${detail}: the hooks could not be asked, which counts as ${counted}`))
    return {
      decision: counted,
      by: closed?.name,
      reason: closed === undefined ? undefined : couldNotJudge(closed.name),
      detail: closed === undefined ? undefined : detail,
      delayMillis: undefined,
      value: quietly(() => PHASES[phase].valueOf(event)) as ValueOf<P>,
      isRewritten: false,
      injected: [],
      runs: [],
    }
  }
}

/** A copy that nobody changes any more, whose value is there. Undefined: it cannot be read. */
function readOnce<P extends Phase>(phase: P, event: EventOf<P>): EventOf<P> | undefined {
  try {
    const read = frozenCopy(event)
    PHASES[phase].valueOf(read)
    return read
  } catch {
    return undefined
  }
}

function isLimit(millis: number | undefined): millis is number {
  return millis !== undefined && millis > 0
}

/**
 * @throws {TypeError} one line, where what is given are no hooks: that is found when the agent is set up, not when a tool runs
 */
export function createHooks(hooks: readonly AnyHook[], options: CreateHooksOptions = {}): ControlHooks {
  const names = new Set<string>()
  for (const hook of hooks) {
    const trouble = troubleOf(hook, names)
    if (trouble !== undefined) throw new TypeError(`createHooks: ${trouble}`)
    names.add(hook.name)
  }
  const { timeLimitMillis = TIME_LIMIT_MILLIS } = options
  if (!isLimit(timeLimitMillis)) throw new TypeError('createHooks: timeLimitMillis is a number of milliseconds above 0')
  return new Hooks(hooks, timeLimitMillis)
}

const DECISIONS: readonly unknown[] = [
  'pass',
  'block',
  'rewrite',
  'inject',
  'retry',
  'ask',
] satisfies readonly Decision[]

function troubleOf(hook: AnyHook, names: ReadonlySet<string>): string | undefined {
  if (typeof hook !== 'object' || hook === null || typeof hook.name !== 'string' || hook.name === '')
    return 'a hook is an object with a name'
  if (names.has(hook.name)) return `two hooks are called "${hook.name}": give one of them another name`
  if (!PHASE_NAMES.some(phase => hook[phase] !== undefined))
    return `the hook "${hook.name}" has no phase: ${PHASE_NAMES.join(', ')}`
  for (const phase of PHASE_NAMES) {
    if (hook[phase] !== undefined && typeof hook[phase] !== 'function')
      return `${phase} of the hook "${hook.name}" is no function`
  }
  if (hook.priority !== undefined && !Number.isFinite(hook.priority))
    return `the priority of the hook "${hook.name}" is no number`
  // A word that is none would leave a door open that somebody has shut.
  if (hook.onFailure !== undefined && hook.onFailure !== 'pass' && hook.onFailure !== 'block')
    return `onFailure of the hook "${hook.name}" is "pass" or "block"`
  if (hook.timeLimitMillis !== undefined && !isLimit(hook.timeLimitMillis))
    return `timeLimitMillis of the hook "${hook.name}" is a number of milliseconds above 0`
  const { decides, looksIn } = hook
  const phases: readonly unknown[] = PHASE_NAMES
  if (looksIn !== undefined && !(Array.isArray(looksIn) && looksIn.every(each => phases.includes(each))))
    return `looksIn of the hook "${hook.name}" is a list of ${PHASE_NAMES.join(', ')}`
  if (decides !== undefined && !isDecides(decides))
    return `decides of the hook "${hook.name}" is a list of ${DECISIONS.join(', ')}, or such a list for each phase`
  return undefined
}

function isDecides(decides: unknown): boolean {
  if (Array.isArray(decides)) return isList(decides)
  const phases: readonly string[] = PHASE_NAMES
  return isPlain(decides) && Object.entries(decides).every(([phase, each]) => phases.includes(phase) && isList(each))
}

function isList(decisions: unknown): boolean {
  return decisions === undefined || (Array.isArray(decisions) && decisions.every(each => DECISIONS.includes(each)))
}

function infoOf(hook: AnyHook): HookInfo {
  const phases = PHASE_NAMES.filter(phase => hook[phase] !== undefined)
  const decidesIn = Object.fromEntries(phases.map(phase => [phase, decisionsIn(hook, phase)]))
  return {
    name: hook.name,
    priority: hook.priority ?? DEFAULT_PRIORITY,
    phases,
    decides: [...new Set(Object.values(decidesIn).flat())],
    decidesIn,
    onFailure: hook.onFailure ?? 'pass',
    isFailureUnsaid: hook.onFailure === undefined,
  }
}

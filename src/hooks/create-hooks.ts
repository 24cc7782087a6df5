import { Chain, DEFAULT_PRIORITY } from './chain.ts'
import type { About } from './context.ts'
import { frozenCopy } from './frozen-copy.ts'
import { type AnyHook, decisionsOf } from './hook.ts'
import type { Outcome } from './outcome.ts'
import { type EventOf, PHASE_NAMES, type Phase } from './phases.ts'
import type { Decision } from './verdict.ts'

/** Below the 15 s after which the strictest host that waits decides by itself. */
const TIME_LIMIT_MILLIS = 10_000

export interface CreateHooksOptions {
  /** For all hooks of a phase together. A host that waits for less has less. Default 10 000. */
  readonly timeLimitMillis?: number | undefined
}

/** What is known of a hook before it has run. */
export interface HookInfo {
  readonly name: string
  readonly priority: number
  readonly phases: readonly Phase[]
  readonly decides: readonly Decision[]
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
  readonly #given: readonly AnyHook[]
  readonly #timeLimitMillis: number
  /** By what the host waits for. */
  readonly #chains = new Map<number, Chains>()
  readonly #phases: ReadonlySet<Phase>

  constructor(given: readonly AnyHook[], timeLimitMillis: number) {
    this.#given = given
    this.#timeLimitMillis = timeLimitMillis
    this.hooks = given.map(infoOf).sort((a, b) => a.priority - b.priority)
    this.#phases = new Set(this.hooks.flatMap(({ phases }) => phases))
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
    const limit = Math.min(limitMillis ?? this.#timeLimitMillis, this.#timeLimitMillis)
    return this.#chainsFor(limit)[phase].run(frozenCopy(event), about)
  }

  #chainsFor(limit: number): Chains {
    let chains = this.#chains.get(limit)
    if (chains === undefined) {
      const made = PHASE_NAMES.map(phase => {
        const hooks = this.#given.filter(hook => typeof hook[phase] === 'function')
        return [phase, new Chain(phase, hooks, limit)]
      })
      chains = Object.fromEntries(made) as unknown as Chains
      this.#chains.set(limit, chains)
    }
    return chains
  }
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
  if (!(timeLimitMillis > 0)) throw new TypeError('createHooks: timeLimitMillis is a number of milliseconds above 0')
  return new Hooks(hooks, timeLimitMillis)
}

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
  return undefined
}

function infoOf(hook: AnyHook): HookInfo {
  return {
    name: hook.name,
    priority: hook.priority ?? DEFAULT_PRIORITY,
    phases: PHASE_NAMES.filter(phase => hook[phase] !== undefined),
    decides: decisionsOf(hook),
    onFailure: hook.onFailure ?? 'pass',
    isFailureUnsaid: hook.onFailure === undefined,
  }
}

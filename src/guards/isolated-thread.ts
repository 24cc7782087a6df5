import { isDeepStrictEqual } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import { hooksOf, whatWentWrong } from './exported-hooks.ts'
import { frozenCopy } from './frozen-copy.ts'
import type { AnyHook, HookContext, HookLogger } from './hook.ts'
import { PHASE_NAMES, type Phase } from './phases.ts'
import { TurnIdentities } from './turn-identity.ts'

export interface ThreadFile {
  /** A file URL. */
  readonly url: string
  readonly options: unknown
}

/** The static properties of a hook, without its functions. */
export interface DescribedHook {
  readonly name: string
  readonly priority: number | undefined
  readonly decides: AnyHook['decides']
  readonly looksIn: readonly Phase[] | undefined
  readonly onFailure: 'pass' | 'block' | undefined
  readonly timeLimitMillis: number | undefined
  readonly phases: readonly Phase[]
}

export type SentContext = Pick<
  HookContext,
  'host' | 'sessionId' | 'turnId' | 'phase' | 'state' | 'metadata' | 'traceparent'
>

/** A message to the thread: run a hook, or abort a running call. */
export type Asked =
  | {
      readonly id: number
      readonly hook: string
      readonly phase: Phase
      readonly event: unknown
      readonly context: SentContext
      /** The same number in all calls of a turn. */
      readonly turn: number
    }
  | { readonly stop: number }

type State = Readonly<Record<string, unknown>>

/** A message from the thread. `changed` holds the entries of the state that the hook changed. */
export type Told =
  | { readonly hooks: readonly DescribedHook[]; readonly troubles: readonly string[] }
  | { readonly problem: string }
  | { readonly id: number; readonly answer: unknown; readonly changed: State }
  | { readonly id: number; readonly failure: string }
  | { readonly id: number; readonly level: keyof HookLogger; readonly line: string }

const running = new Map<number, AbortController>()
const turns = new TurnIdentities()

function tell(told: Told): void {
  parentPort?.postMessage(told)
}

async function open({ url, options }: ThreadFile): Promise<void> {
  try {
    const { hooks, troubles } = await hooksOf(await import(url), options)
    parentPort?.on('message', (asked: Asked) => {
      if ('stop' in asked) running.get(asked.stop)?.abort()
      else void answer(hooks, asked)
    })
    tell({ hooks: hooks.map(described), troubles })
  } catch (error) {
    tell({ problem: whatWentWrong(error) })
  }
}

function described(hook: AnyHook): DescribedHook {
  return {
    name: hook.name,
    priority: hook.priority,
    decides: hook.decides,
    looksIn: hook.looksIn,
    onFailure: hook.onFailure,
    timeLimitMillis: hook.timeLimitMillis,
    phases: PHASE_NAMES.filter(phase => hook[phase] !== undefined),
  }
}

async function answer(hooks: readonly AnyHook[], asked: Exclude<Asked, { readonly stop: number }>): Promise<void> {
  const { id, phase, context } = asked
  const before = structuredClone(context.state)
  const controller = new AbortController()
  running.set(id, controller)
  const say =
    (level: keyof HookLogger) =>
    (line: string): void =>
      tell({ id, level, line: String(line) })
  try {
    const hook = hooks.find(({ name }) => name === asked.hook)
    if (hook === undefined) throw new Error('its file has no hook of this name any more')
    const logger = { info: say('info'), warn: say('warn') }
    const ask = hook[phase] as (event: unknown, context: HookContext) => unknown
    const said = await ask.call(hook, frozenCopy(asked.event), {
      ...context,
      ...turns.of(asked.turn),
      logger,
      signal: controller.signal,
    })
    tell({ id, answer: said, changed: changedIn(context.state, before) })
  } catch (error) {
    tell({ id, failure: whatWentWrong(error) })
  } finally {
    running.delete(id)
  }
}

/** Returns only the changed entries. Sending the whole copy would undo changes that other hooks made meanwhile. */
function changedIn(state: State, before: State): State {
  return Object.fromEntries(Object.entries(state).filter(([key, value]) => !isDeepStrictEqual(value, before[key])))
}

await open(workerData as ThreadFile)

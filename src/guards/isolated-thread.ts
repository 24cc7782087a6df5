import { isDeepStrictEqual } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import { RecentValues, TURN } from './context.ts'
import { errorLine, exportedHooks } from './exported-hooks.ts'
import { frozenCopy } from './frozen-copy.ts'
import type { AnyHook, HookContext, HookLogger } from './hook.ts'
import { PHASE_NAMES, type Phase } from './phases.ts'

export interface ThreadFile {
  readonly url: string
  readonly options: unknown
}

export interface DescribedHook
  extends Pick<AnyHook, 'name' | 'priority' | 'decisions' | 'observeOnly' | 'onFailure' | 'timeLimitMillis'> {
  readonly phases: readonly Phase[]
}

export type ThreadRequest =
  | {
      readonly id: number
      readonly hook: string
      readonly phase: Phase
      readonly event: unknown
      readonly context: Omit<HookContext, 'signal' | 'logger'>
      /** The same number in all calls of a turn. */
      readonly turn: number
    }
  | { readonly stop: number }

type State = Readonly<Record<string, unknown>>

/** A message from the thread. `changed` holds the entries of the state that the hook changed. */
export type ThreadMessage =
  | { readonly hooks: readonly DescribedHook[]; readonly problems: readonly string[] }
  | { readonly problem: string }
  | { readonly id: number; readonly runHook: unknown; readonly changed: State }
  | { readonly id: number; readonly failure: string }
  | { readonly id: number; readonly level: keyof HookLogger; readonly line: string }

const running = new Map<number, AbortController>()
const turns = new RecentValues<number, object>()

function post(message: ThreadMessage): void {
  parentPort?.postMessage(message)
}

async function start({ url, options }: ThreadFile): Promise<void> {
  try {
    const { hooks, problems: troubles } = await exportedHooks(await import(url), options)
    parentPort?.on('message', (request: ThreadRequest) => {
      if ('stop' in request) running.get(request.stop)?.abort()
      else void answer(hooks, request)
    })
    post({ hooks: hooks.map(describeHook), problems: troubles })
  } catch (error) {
    post({ problem: errorLine(error) })
  }
}

function describeHook(hook: AnyHook): DescribedHook {
  const { name, priority, decisions, observeOnly, onFailure, timeLimitMillis } = hook
  const phases = PHASE_NAMES.filter(phase => hook[phase] !== undefined)
  return { name, priority, decisions, observeOnly, onFailure, timeLimitMillis, phases }
}

async function answer(hooks: readonly AnyHook[], request: Exclude<ThreadRequest, { readonly stop: number }>) {
  const { id, phase, context } = request
  const before = structuredClone(context.state)
  const controller = new AbortController()
  running.set(id, controller)
  const logAt =
    (level: keyof HookLogger) =>
    (line: string): void =>
      post({ id, level, line: String(line) })
  try {
    const hook = hooks.find(({ name }) => name === request.hook)
    if (hook === undefined) throw new Error('its file has no hook of this name any more')
    const logger = { info: logAt('info'), warn: logAt('warn') }
    const run = hook[phase] as (event: unknown, context: HookContext) => unknown
    const verdict = await run.call(hook, frozenCopy(request.event), {
      ...context,
      [TURN]: turns.of(request.turn, () => ({})),
      logger,
      signal: controller.signal,
    })
    // Only the changed entries: the whole copy would undo changes that other hooks made meanwhile.
    const changed = Object.entries(context.state).filter(([key, value]) => !isDeepStrictEqual(value, before[key]))
    post({ id, runHook: verdict, changed: Object.fromEntries(changed) })
  } catch (error) {
    post({ id, failure: errorLine(error) })
  } finally {
    running.delete(id)
  }
}

await start(workerData as ThreadFile)

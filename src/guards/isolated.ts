import { Worker } from 'node:worker_threads'
import { whatWentWrong } from './exported-hooks.ts'
import type { AnyHook, HookContext } from './hook.ts'
import type { Asked, DescribedHook, ThreadFile, Told } from './isolated-thread.ts'
import type { Phase } from './phases.ts'
import { TurnNumbers } from './turn-identity.ts'

export interface IsolatedOptions extends ThreadFile {
  /** The module that runs in the thread. */
  readonly thread?: URL | undefined
}

/** The hooks of a file that runs in its own thread. */
export interface IsolatedHooks {
  readonly hooks: readonly AnyHook[]
  /** One line for each export that is not a hook. */
  readonly troubles: readonly string[]
  close(): void
}

/**
 * The compiled module, found both from `build/guards` and from `dist/chunks`. A function, because a CommonJS bundle has no
 * `import.meta.url`.
 */
const threadModule = (): URL => new URL('../guards/isolated-thread.js', import.meta.url)
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
/** A file that takes longer to load is considered hung. */
const START_LIMIT_MILLIS = 10_000
/** The time that a hook has to stop after the agent aborted it. */
const STOP_LIMIT_MILLIS = 1000

/**
 * Loads a file into its own thread, so that its hooks cannot block the agent. If one exceeds its time, even in an endless loop,
 * the thread is terminated and replaced.
 *
 * @throws one line, if the file cannot be loaded
 */
export async function isolatedHooks(options: IsolatedOptions): Promise<IsolatedHooks> {
  const file = new IsolatedFile(options)
  const { hooks, troubles } = await file.open()
  return { hooks: hooks.map(each => standIn(file, each)), troubles, close: () => file.close() }
}

/** A proxy of the hook that calls the thread. */
function standIn(file: IsolatedFile, { phases, ...rest }: DescribedHook): AnyHook {
  const ask = (phase: Phase) => (event: unknown, context: HookContext) => file.ask(rest.name, phase, event, context)
  return { ...rest, ...Object.fromEntries(phases.map(phase => [phase, ask(phase)])) } as AnyHook
}

class IsolatedFile {
  readonly #options: IsolatedOptions
  #thread: Thread
  readonly #turns = new TurnNumbers()
  #isClosed = false
  #lastId = 0

  constructor(options: IsolatedOptions) {
    this.#options = options
    this.#thread = new Thread(options)
  }

  open(): Thread['opened'] {
    return this.#thread.opened
  }

  ask(hook: string, phase: Phase, event: unknown, context: HookContext): Promise<unknown> {
    if (this.#thread.isOver && !this.#isClosed) this.#thread = new Thread(this.#options)
    const thread = this.#thread
    const { host, sessionId, turnId, state, metadata, traceparent, signal } = context
    const sent = { host, sessionId, turnId, phase, state: sendable(state), metadata: sendable(metadata), traceparent }
    const id = ++this.#lastId
    const answer = thread.ask({ id, hook, phase, event, context: sent, turn: this.#turns.of(context) }, context)
    const over = (): void => {
      thread.stop(id, isTimeOver(signal))
      if (thread.isOver && !this.#isClosed) this.#startAgain()
    }
    signal.addEventListener('abort', over, { once: true })
    return answer.finally(() => signal.removeEventListener('abort', over))
  }

  close(): void {
    this.#isClosed = true
    this.#thread.end('it is closed')
  }

  /** Restarts ahead of the next call, which has no time left for loading the file. */
  #startAgain(): void {
    this.#thread = new Thread(this.#options)
    this.#thread.letProcessEnd()
  }
}

/** True if the hook timed out, false if the agent was stopped. */
function isTimeOver({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}

/** The entries that can be cloned to a thread. Functions are dropped. */
function sendable(map: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => {
      try {
        return [[key, structuredClone(value)]]
      } catch {
        return []
      }
    }),
  )
}

interface Waiting {
  readonly context: HookContext
  resolve(answer: unknown): void
  reject(error: Error): void
}

class Thread {
  readonly opened: Promise<Extract<Told, { readonly hooks: unknown }>>
  isOver = false
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #isOpen = false
  #onOver: (problem: string) => void = () => undefined

  constructor({ url, options, thread = threadModule() }: IsolatedOptions) {
    this.#worker = new Worker(thread, { workerData: { url, options }, resourceLimits: LIMITS, name: 'hookspan hooks' })
    this.opened = new Promise((resolve, reject) => {
      const tooLate = (): void => this.end(`it was not ready within ${START_LIMIT_MILLIS / 1000} s`)
      const timer = setTimeout(tooLate, START_LIMIT_MILLIS).unref()
      this.#worker.on('message', (told: Told) => {
        if ('hooks' in told) {
          clearTimeout(timer)
          this.#isOpen = true
          this.letProcessEnd()
          resolve(told)
        } else this.#hear(told)
      })
      this.#onOver = problem => {
        clearTimeout(timer)
        reject(new Error(problem))
      }
    })
    // Avoids an unhandled rejection; callers of `opened` receive the error, too.
    this.opened.catch(() => undefined)
    this.#worker.on('messageerror', () => this.end('what its thread answered cannot be read'))
    this.#worker.on('error', error => this.end(`its thread ended: ${whatWentWrong(error)}`))
    this.#worker.on('exit', () => this.end('its thread ended'))
  }

  ask(asked: Exclude<Asked, { readonly stop: number }>, context: HookContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.isOver) {
        reject(new Error('its thread has ended'))
        return
      }
      // Throws if the event cannot be cloned, which rejects the promise.
      this.#worker.postMessage(asked)
      this.#worker.ref()
      this.#waiting.set(asked.id, { context, resolve, reject })
    })
  }

  /** Aborts a pending call. @param isTimeOver the hook used all of its time, so the thread is terminated */
  stop(id: number, isTimeOver: boolean): void {
    if (!this.#waiting.has(id) || this.isOver) return
    if (isTimeOver && this.#isOpen) {
      this.end('its thread was ended, because one of its hooks took too long')
      return
    }
    this.#worker.postMessage({ stop: id } satisfies Asked)
    const late = (): void => {
      if (this.#waiting.has(id)) this.end('its thread was ended, because one of its hooks did not stop')
    }
    if (!isTimeOver) setTimeout(late, STOP_LIMIT_MILLIS).unref()
  }

  /** @param why the error message of pending calls */
  end(why: string): void {
    if (this.isOver) return
    this.isOver = true
    this.#onOver(why)
    for (const { reject } of this.#waiting.values()) reject(new Error(why))
    this.#waiting.clear()
    void this.#worker.terminate()
  }

  /** Unreferences the thread if no call is pending. */
  letProcessEnd(): void {
    if (this.#waiting.size === 0) this.#worker.unref()
  }

  #hear(told: Exclude<Told, { readonly hooks: unknown }>): void {
    if ('problem' in told) {
      this.end(told.problem)
      return
    }
    const waiting = this.#waiting.get(told.id)
    if (waiting === undefined) return
    if ('level' in told) {
      waiting.context.logger[told.level](told.line)
      return
    }
    this.#waiting.delete(told.id)
    this.letProcessEnd()
    if ('failure' in told) {
      waiting.reject(new Error(told.failure))
      return
    }
    Object.assign(waiting.context.state, told.changed)
    waiting.resolve(told.answer)
  }
}

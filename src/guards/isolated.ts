import { Worker } from 'node:worker_threads'
import { ignoreErrors } from '../contract/foreign.ts'
import { TurnState } from './context.ts'
import { type ExportedHooks, errorLine } from './exported-hooks.ts'
import type { AnyHook, HookContext } from './hook.ts'
import type { ThreadFile, ThreadMessage, ThreadRequest } from './isolated-thread.ts'
import type { Phase } from './phases.ts'

export interface IsolatedOptions extends ThreadFile {
  readonly thread?: URL | undefined
}

/**
 * The compiled module, found both from `build/guards` and from `dist/chunks`. A function, because a CommonJS bundle has no
 * `import.meta.url`.
 */
const threadModule = (): URL => new URL('../guards/isolated-thread.js', import.meta.url)
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
const START_LIMIT_MILLIS = 10_000
const STOP_LIMIT_MILLIS = 1000

/**
 * Loads a file into its own thread, so that its hooks cannot block the agent. If one exceeds its time, even in an endless loop,
 * the thread is terminated and replaced.
 *
 * @throws one line, if the file cannot be loaded
 */
export async function isolatedHooks(options: IsolatedOptions): Promise<ExportedHooks & { close(): void }> {
  let thread = new Thread(options)
  let isClosed = false
  let [lastTurn, lastId] = [0, 0]
  const turns = new TurnState(() => ++lastTurn)

  function call(hook: string, phase: Phase, event: unknown, context: HookContext): Promise<unknown> {
    if (thread.hasEnded && !isClosed) thread = new Thread(options)
    const called = thread
    const { host, sessionId, turnId, state, metadata, traceparent, signal } = context
    const sent = { host, sessionId, turnId, phase, state: sendable(state), metadata: sendable(metadata), traceparent }
    const id = ++lastId
    const answer = called.call({ id, hook, phase, event, context: sent, turn: turns.of(context) }, context)
    const over = (): void => {
      called.abortCall(id, signal.reason instanceof Error && signal.reason.name === 'TimeoutError')
      if (!called.hasEnded || isClosed) return
      // Ahead of the next call, which has no time left for loading the file.
      thread = new Thread(options)
      thread.unrefIfIdle()
    }
    signal.addEventListener('abort', over, { once: true })
    return answer.finally(() => signal.removeEventListener('abort', over))
  }

  function close(): void {
    isClosed = true
    thread.terminate('it is closed')
  }

  const { hooks, problems } = await thread.opened
  const proxies = hooks.map(({ phases, ...rest }): AnyHook => {
    const ask = (phase: Phase) => (event: unknown, context: HookContext) => call(rest.name, phase, event, context)
    return { ...rest, ...Object.fromEntries(phases.map(phase => [phase, ask(phase)])) } as AnyHook
  })
  return { hooks: proxies, problems, close }
}

function sendable(map: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const cloned = Object.entries(map).flatMap(
    ([key, value]) => ignoreErrors(() => [[key, structuredClone(value)]]) ?? [],
  )
  return Object.fromEntries(cloned)
}

class Thread {
  readonly opened: Promise<Extract<ThreadMessage, { readonly hooks: unknown }>>
  hasEnded = false
  readonly #worker: Worker
  readonly #pending = new Map<
    number,
    { readonly context: HookContext; resolve(answer: unknown): void; reject(error: Error): void }
  >()
  #isOpen = false
  #rejectOpened: (problem: string) => void = () => undefined

  constructor({ url, options, thread = threadModule() }: IsolatedOptions) {
    this.#worker = new Worker(thread, { workerData: { url, options }, resourceLimits: LIMITS, name: 'hookspan hooks' })
    this.opened = new Promise((resolve, reject) => {
      const tooLate = (): void => this.terminate(`it was not ready within ${START_LIMIT_MILLIS / 1000} s`)
      const timer = setTimeout(tooLate, START_LIMIT_MILLIS).unref()
      this.#worker.on('message', (message: ThreadMessage) => {
        if ('hooks' in message) {
          clearTimeout(timer)
          this.#isOpen = true
          this.unrefIfIdle()
          resolve(message)
        } else this.#handleMessage(message)
      })
      this.#rejectOpened = problem => {
        clearTimeout(timer)
        reject(new Error(problem))
      }
    })
    // Avoids an unhandled rejection; callers of `opened` receive the error, too.
    this.opened.catch(() => undefined)
    this.#worker.on('messageerror', () => this.terminate('what its thread answered cannot be read'))
    this.#worker.on('error', error => this.terminate(`its thread ended: ${errorLine(error)}`))
    this.#worker.on('exit', () => this.terminate('its thread ended'))
  }

  async call(request: Exclude<ThreadRequest, { readonly stop: number }>, context: HookContext): Promise<unknown> {
    if (this.hasEnded) throw new Error('its thread has ended')
    // Throws if the event cannot be cloned.
    this.#worker.postMessage(request)
    this.#worker.ref()
    return new Promise((resolve, reject) => this.#pending.set(request.id, { context, resolve, reject }))
  }

  abortCall(id: number, isTimeOver: boolean): void {
    if (!this.#pending.has(id) || this.hasEnded) return
    if (isTimeOver && this.#isOpen) {
      this.terminate('its thread was ended, because one of its hooks took too long')
      return
    }
    this.#worker.postMessage({ stop: id } satisfies ThreadRequest)
    const late = (): void => {
      if (this.#pending.has(id)) this.terminate('its thread was ended, because one of its hooks did not stop')
    }
    if (!isTimeOver) setTimeout(late, STOP_LIMIT_MILLIS).unref()
  }

  terminate(why: string): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.#rejectOpened(why)
    for (const { reject } of this.#pending.values()) reject(new Error(why))
    this.#pending.clear()
    void this.#worker.terminate()
  }

  unrefIfIdle(): void {
    if (this.#pending.size === 0) this.#worker.unref()
  }

  #handleMessage(message: Exclude<ThreadMessage, { readonly hooks: unknown }>): void {
    if ('problem' in message) {
      this.terminate(message.problem)
      return
    }
    const call = this.#pending.get(message.id)
    if (call === undefined) return
    if ('level' in message) {
      call.context.logger[message.level](message.line)
      return
    }
    this.#pending.delete(message.id)
    this.unrefIfIdle()
    if ('failure' in message) call.reject(new Error(message.failure))
    else {
      Object.assign(call.context.state, message.changed)
      call.resolve(message.runHook)
    }
  }
}

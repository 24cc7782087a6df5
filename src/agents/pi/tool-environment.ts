import type { SpanIds } from '../../index.ts'

/** Shared by all copies of this package in a process, because the environment is shared, too. */
const SHARED = Symbol.for('hookspan.pi.environment')
const NAME = 'TRACEPARENT'

interface Shared {
  /** The value set by this package. */
  ours: string | undefined
  /** The earlier value, which is restored. */
  theirs: string | undefined
}

/**
 * Sets the trace context in the environment, so that a child agent started by a tool finds its parent. Pi offers no environment
 * per tool, so the variable is set for the whole process while tools run, and restored afterwards.
 */
export class ToolEnvironment {
  readonly #traceparent: (ids: SpanIds) => string | undefined
  readonly #open = new Map<string, Set<string>>()

  /** @param traceparent returns the context of exactly the named tool or turn */
  constructor(traceparent: (ids: SpanIds) => string | undefined) {
    this.#traceparent = traceparent
  }

  started(session: string, tool: string): void {
    const tools = this.#open.get(session) ?? new Set()
    this.#open.set(session, tools.add(tool))
    put(this.#current())
  }

  ended(session: string, tool: string): void {
    const tools = this.#open.get(session)
    if (tools?.delete(tool) !== true) return
    if (tools.size === 0) this.#open.delete(session)
    put(this.#current())
  }

  /** Clears the open tools of a session, even if their ends were not received. */
  cleared(session: string): void {
    if (this.#open.delete(session)) put(this.#current())
  }

  /** If several tools run at once, the one that starts a process is unknown: the turn's context is used. */
  #current(): string | undefined {
    const [only, another] = this.#open
    if (only === undefined || another !== undefined) return undefined
    const [session, tools] = only
    const [tool, further] = tools
    return this.#traceparent(
      tool === undefined || further !== undefined
        ? { session_id: session }
        : { session_id: session, tool_call_id: tool },
    )
  }
}

function put(value: string | undefined): void {
  const holder = globalThis as { [SHARED]?: Shared }
  holder[SHARED] ??= { ours: undefined, theirs: undefined }
  const shared = holder[SHARED]
  const current = process.env[NAME]
  const isOurs = shared.ours !== undefined && current === shared.ours
  if (!isOurs) shared.theirs = current
  const next = value ?? (isOurs ? shared.theirs : current)
  if (next === undefined) delete process.env[NAME]
  else if (next !== current) process.env[NAME] = next
  shared.ours = value
}

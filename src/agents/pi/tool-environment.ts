import type { SpanIds } from '../../index.ts'

/** Shared by all copies of this package in a process, because the environment is shared, too. */
const SHARED = Symbol.for('hookspan.pi.environment')
const NAME = 'TRACEPARENT'

interface Shared {
  ours: string | undefined
  theirs: string | undefined
}

/**
 * Sets the trace context in the environment, so that a child agent started by a tool finds its parent. Pi offers no environment
 * per tool, so the variable is set for the whole process while tools run, and restored afterwards.
 */
export class ToolEnvironment {
  readonly #traceparent: (ids: SpanIds) => string | undefined
  readonly #open = new Map<string, Set<string>>()

  constructor(traceparent: (ids: SpanIds) => string | undefined) {
    this.#traceparent = traceparent
  }

  addTool(session: string, tool: string): void {
    const tools = this.#open.get(session) ?? new Set()
    this.#open.set(session, tools.add(tool))
    setVariable(this.#current())
  }

  removeTool(session: string, tool: string): void {
    const tools = this.#open.get(session)
    if (tools?.delete(tool) !== true) return
    if (tools.size === 0) this.#open.delete(session)
    setVariable(this.#current())
  }

  clearSession(session: string): void {
    if (this.#open.delete(session)) setVariable(this.#current())
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

function setVariable(value: string | undefined): void {
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

import type { SpanIds } from '../../index.ts'

/** One for all copies of us in a process: there is one environment, too. */
const SHARED = Symbol.for('hookspan.pi.environment')
const NAME = 'TRACEPARENT'

interface Shared {
  /** What we have put there. */
  ours: string | undefined
  /** What was there before, and is put back. */
  theirs: string | undefined
}

/**
 * The trace context that processes inherit which tools start: a child agent in one of them finds its parent by it. Pi lets
 * nobody set the environment of one tool, so it is that of all of us while tools run, and is put back afterwards.
 */
export class ToolEnvironment {
  readonly #traceparent: (ids: SpanIds) => string | undefined
  readonly #open = new Map<string, Set<string>>()

  /** @param traceparent of exactly the tool or turn that is named */
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

  /** No tool of it runs any more, whatever was told. */
  cleared(session: string): void {
    if (this.#open.delete(session)) put(this.#current())
  }

  /** Of several tools that run at once nobody can say which one starts a process: then it is the turn's. */
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

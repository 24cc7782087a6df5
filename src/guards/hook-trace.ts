import type { HookRun } from './outcome.ts'
import { PHASES, type Phase } from './phases.ts'
import type { ToolArguments } from './tool-call.ts'

/** The ids of the operation that hooks run for. They are the host's own, the same as in its trace. */
export interface HookIds {
  /** The session id. */
  readonly sessionId?: string | undefined
  /** The turn id. */
  readonly turnId?: string | undefined
  /** The tool call id, in `beforeTool` and `afterTool`. */
  readonly toolCallId?: string | undefined
  /** The request id, in `beforeModel` and `afterModel`. */
  readonly requestId?: string | undefined
}

/** Module-wide, because several `HookTrace` instances may emit to one plugin. */
let runs = 0

/** The subset of a plugin that tracing hooks needs. */
export interface TracedPlugin {
  /** Like `emitUntyped` of the plugin. */
  emitUntyped(hook: string, payload: unknown, meta?: { readonly at?: number }): unknown
  /** Like `traceparent` of the plugin. */
  traceparent(ids: {
    readonly session_id?: string
    readonly turn_id?: string
    readonly tool_call_id?: string
  }): string | undefined
}

/** Emits hook decisions to a plugin. Only runs that decided, failed or were slow get a span. */
export class HookTrace {
  readonly #plugin: () => TracedPlugin | undefined

  constructor(plugin: () => TracedPlugin | undefined = () => undefined) {
    this.#plugin = plugin
  }

  /** The traceparent of the span that the hooks run for. Costly: queued events are processed first. */
  traceparent({ sessionId, turnId, toolCallId }: HookIds): string | undefined {
    return this.#plugin()?.traceparent(defined({ session_id: sessionId, turn_id: turnId, tool_call_id: toolCallId }))
  }

  /**
   * Emits one run of a hook.
   *
   * @param action the host's reaction
   * @param args the rewritten arguments that the tool runs with, if any
   */
  tell(phase: Phase, ids: HookIds, run: HookRun, action: string, args?: ToolArguments): void {
    const plugin = this.#plugin()
    if (plugin === undefined) return
    const about = this.#about(phase, ids, run)
    plugin.emitUntyped('pre_control_hook', about, { at: run.startAt })
    const said = {
      ...about,
      verdict: run.verdict,
      action,
      reason: run.reason,
      detail: run.detail,
      rewritten_fields: run.rewrittenFields.length === 0 ? undefined : run.rewrittenFields,
      rewritten_args: args,
      failure: run.failure,
      failure_message: run.failureMessage,
      duration_ms: run.durationMillis,
    }
    plugin.emitUntyped('post_control_hook', said, { at: run.startAt + run.durationMillis })
  }

  /** Emits the count of fast passes, which get no span of their own. */
  count(phase: Phase, ids: HookIds, run: HookRun, count: number): void {
    this.#plugin()?.emitUntyped('post_control_hook', { ...this.#about(phase, ids, run), verdict: 'pass', count })
  }

  #about(phase: Phase, ids: HookIds, run: HookRun): object {
    return {
      session_id: ids.sessionId,
      turn_id: ids.turnId,
      tool_call_id: ids.toolCallId,
      api_request_id: ids.requestId,
      hook_run_id: `hook ${process.pid} ${++runs}`,
      hook_name: run.hook,
      hook_phase: PHASES[phase].word,
      hook_priority: run.priority,
      hook_judges: run.judges,
    }
  }
}

function defined(ids: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(ids).flatMap(([key, id]) => (id === undefined ? [] : [[key, id]])))
}

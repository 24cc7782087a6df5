import type { HookRun } from './outcome.ts'
import { PHASES, type Phase } from './phases.ts'
import type { ToolArguments } from './tool-call.ts'

/** What the hooks are asked about. Ids are the host's own, the same as in its trace. */
export interface HookIds {
  /** Of the session. */
  readonly sessionId?: string | undefined
  /** Of the turn. */
  readonly turnId?: string | undefined
  /** Of the call of a tool, in `beforeTool` and `afterTool`. */
  readonly toolCallId?: string | undefined
  /** Of the request, in `beforeModel` and `afterModel`. */
  readonly requestId?: string | undefined
}

/** Several copies of this may tell one plugin. */
let runs = 0

/** What of a plugin is needed to trace hooks. */
export interface Traced {
  /** As the plugin's. */
  emitUntyped(hook: string, payload: unknown, meta?: { readonly at?: number }): unknown
  /** As the plugin's. */
  traceparent(ids: {
    readonly session_id?: string
    readonly turn_id?: string
    readonly tool_call_id?: string
  }): string | undefined
}

/** Tells a plugin what hooks have decided. What it costs is paid for what decided, failed or took long. */
export class HookTrace {
  readonly #plugin: () => Traced | undefined

  constructor(plugin: () => Traced | undefined = () => undefined) {
    this.#plugin = plugin
  }

  /** Of the span that the hooks look at. It costs something: what was told before has to be worked off first. */
  traceparent({ sessionId, turnId, toolCallId }: HookIds): string | undefined {
    return this.#plugin()?.traceparent(defined({ session_id: sessionId, turn_id: turnId, tool_call_id: toolCallId }))
  }

  /**
   * @param action what the host then does
   * @param args with which a tool then runs, where they are others
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

  /** So many runs that nobody need look at. */
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

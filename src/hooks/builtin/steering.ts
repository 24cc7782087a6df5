import { textOf } from '../../contract/foreign.ts'
import { defineHook, type Hook, type HookContext, PRIORITY } from '../hook.ts'
import { TOOL_KINDS, type ToolCall, type ToolKind } from '../tool-call.ts'
import { block } from '../verdict.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, listOf, MILLIS } from './options.ts'

/** What a judge says of a call. */
export interface Judgement {
  /** `guide`: not like this, but as the reason says. `stop`: not at all. */
  readonly verdict: 'proceed' | 'guide' | 'stop'
  /** For the model. */
  readonly reason?: string | undefined
  /** For the person and the trace. */
  readonly detail?: string | undefined
}

/** Who judges what. */
export interface SteeringOptions extends BuiltinOptions {
  /**
   * Your judge: another model, a service, a rule. It sees the call as it would run.
   *
   * @param signal aborted when its time is over, or the agent is stopped: hand it on to what you ask
   */
  readonly judge: (call: ToolCall, signal: AbortSignal, ctx: HookContext) => Judgement | Promise<Judgement>
  /** The tools that it is asked about. A judge that is a model costs time: name those that matter. Default: all. */
  readonly for?: readonly ToolKind[] | undefined
  /** Default: what is left of the time of all hooks. */
  readonly timeLimitMillis?: number | undefined
}

/**
 * A judge of yours sees each call of a tool before it runs, and says go on, do it otherwise, or stop. A judge that fails, answers
 * too late or says what is neither lets nothing run, unless `onFailure` is "pass".
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function steering(options: SteeringOptions): Hook<'block'> {
  checkOptions('steering', options, { judge: FUNCTION, for: listOf(TOOL_KINDS), timeLimitMillis: MILLIS })
  if (options.judge === undefined) throw new TypeError('steering: judge is a function')
  const kinds = options.for === undefined ? undefined : new Set(options.for)
  return defineHook({
    name: options.name ?? 'steering',
    priority: options.priority ?? PRIORITY.business,
    onFailure: options.onFailure ?? 'block',
    timeLimitMillis: options.timeLimitMillis,
    async beforeTool({ tool }, ctx) {
      if (kinds !== undefined && !kinds.has(tool.kind)) return undefined
      const { verdict, reason, detail } = await options.judge(tool, ctx.signal, ctx)
      const more = { detail: textOf(detail) ?? `the judge says ${verdict}` }
      if (verdict === 'proceed') return undefined
      if (verdict === 'guide') return block(textOf(reason) ?? 'Not like this: take another way.', more)
      if (verdict === 'stop') return block(`${textOf(reason) ?? 'This is not done.'} Do not try it again.`, more)
      throw new TypeError('the judge said neither "proceed" nor "guide" nor "stop"')
    },
  })
}

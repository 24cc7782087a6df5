import { textOf } from '../../contract/foreign.ts'
import { defineHook, type Hook, type HookContext, PRIORITY } from '../hook.ts'
import { TOOL_KINDS, type ToolCall, type ToolKind } from '../tool-call.ts'
import { block } from '../verdict.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, listOf, MILLIS, propertiesOf } from './options.ts'

/** The verdict of a judge on a call. */
export interface Judgement {
  /** `guide`: retry as the reason describes. `stop`: do not run the call. */
  readonly verdict: 'proceed' | 'guide' | 'stop'
  /** For the model. */
  readonly reason?: string | undefined
  /** For the user and the trace. */
  readonly detail?: string | undefined
}

/** Options of `steering`. */
export interface SteeringOptions extends BuiltinOptions {
  /**
   * The judge: another model, a service or a rule. It receives the call as it would run.
   *
   * @param signal aborted if the judge's time is over or the agent is stopped; pass it on to your requests
   */
  readonly judge: (call: ToolCall, signal: AbortSignal, ctx: HookContext) => Judgement | Promise<Judgement>
  /** The kinds of tools to judge. A model as a judge is slow, so restrict it to those that matter. Default: all. */
  readonly for?: readonly ToolKind[] | undefined
  /** The time limit in milliseconds. Default: the rest of the time of all hooks. */
  readonly timeLimitMillis?: number | undefined
}

/**
 * Passes each tool call to your judge before it runs. If the judge fails, times out or returns an invalid verdict, the call is
 * blocked unless `onFailure` is "pass".
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function steering(options: SteeringOptions): Hook<'block'> {
  checkOptions('steering', options, { judge: FUNCTION, for: listOf(TOOL_KINDS), timeLimitMillis: MILLIS })
  if (options.judge === undefined) throw new TypeError('steering: judge is a function')
  const kinds = options.for === undefined ? undefined : new Set(options.for)
  return defineHook({
    ...propertiesOf(options, 'steering', PRIORITY.business, 'block'),
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

/**
 * Traces of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`).
 *
 * @example
 * import { query as plainQuery } from '@anthropic-ai/claude-agent-sdk'
 * import { traceQuery } from 'hookspan/claude-agent-sdk'
 * const query = traceQuery(plainQuery)
 */
import { idOf, peek } from '../../contract/foreign.ts'
import type { PluginOptions } from '../../index.ts'
import { attachHost } from '../attach.ts'
import { ClaudeAgentSdkMachine, TRACED_HOOKS } from './events.ts'
import { type EmitEvent, QueryObserver, tracedParameters } from './traced-query.ts'

export type { PluginOptions } from '../../index.ts'

/** The type of `query()`, whose parameters and result are passed through unchanged. */
export type QueryFunction = (...parameters: never[]) => object

/**
 * Wraps `query()` so that every run is traced. Parameters, results and errors stay those of the SDK. Hooks are added after the
 * user's own. An existing `canUseTool` is observed, and messages are observed as they are read.
 *
 * @param query the SDK's function
 * @param options options of hookspan; only those of the first call in a process apply
 */
export function traceQuery<Query extends QueryFunction>(query: Query, options: PluginOptions = {}): Query {
  const attachment = attachHost('claude-agent-sdk', () => new ClaudeAgentSdkMachine(), options)
  const traced = (...[parameters, ...rest]: unknown[]): object => {
    const id = globalThis.crypto.randomUUID()
    const emit: EmitEvent = (event, data, toolUseId) => {
      const toolUse = toolUseId !== undefined && { tool_use_id: toolUseId }
      // A query that is wrapped twice emits each event twice, with the same session and tool ids.
      const scope = idOf(peek(data, 'session_id')) ?? idOf(peek(data, 'toolUseID')) ?? id
      attachment.handleEvent({ event, at: Date.now(), data, context: { query: id }, ...toolUse }, scope)
    }
    const seen = attachment.catchErrors(() => tracedParameters(parameters, TRACED_HOOKS, emit)) ?? parameters
    const running = Reflect.apply(query, undefined, [seen, ...rest] as never[])
    const signal = peek(peek(peek(parameters, 'options'), 'abortController'), 'signal')
    const observer = new QueryObserver(emit, () => peek(signal, 'aborted') === true)
    return attachment.catchErrors(() => observer.observed(running)) ?? running
  }
  return traced as unknown as Query
}

import { ABLE_OF_ALL, HostHooks, type HostHooksOptions } from './host-hooks.ts'

/** @see HostHooksOptions `host`: what your agent is called, the same as in its trace */
export type RunHooksOptions = Pick<HostHooksOptions, 'limitMillis' | 'plugin' | 'report'> & { readonly host: string }

/**
 * Hooks for an agent of your own. Ask them where something is about to happen, and do what they say:
 *
 * @example
 * const hooks = runHooks(createHooks([noRm]), { host: 'my-agent', plugin: () => plugin })
 * const ids = { sessionId, turnId, toolCallId }
 * const said = await hooks.run('beforeTool', ids, { tool: toolCallOf({ name, arguments: args }) })
 * if (said.decision === 'block') return said.reason
 * const result = await tool(said.value)
 * hooks.endTurn(ids)
 */
export function runHooks(hooks: HostHooksOptions['hooks'], options: RunHooksOptions): HostHooks {
  return new HostHooks({ ...options, hooks, able: ABLE_OF_ALL })
}

import type { RunningPlugins } from '../contract/running-plugins.ts'
import { toStandardError } from './hook.ts'
import type { TracedPlugin } from './hook-trace.ts'
import { ALL_CAPABILITIES, HostHooks, type HostHooksOptions } from './host-hooks.ts'
import { quietly } from './quietly.ts'

/** Options of `runHooks`. */
export interface RunHooksOptions extends Pick<HostHooksOptions, 'limitMillis' | 'report'> {
  /** The name of your agent, as in its trace. */
  readonly host: string
  /**
   * The plugin that traces the agent, or a function that returns it. Default: the plugin that `createPlugin({ host })` or
   * `register` made in this process for the same host. Without one, a single line reports that decisions are not traced. A
   * function that returns undefined disables tracing without that line.
   */
  readonly plugin?: TracedPlugin | (() => TracedPlugin | undefined) | undefined
}

/**
 * Runs hooks in a custom agent. Call `run` before each operation and apply its outcome:
 *
 * @example
 * const plugin = createPlugin({ host: 'my-agent' })
 * const hooks = runHooks(createHooks([noRm]), { host: 'my-agent' })
 * const ids = { sessionId, turnId, toolCallId }
 * const said = await hooks.run('beforeTool', ids, { tool: toolCallOf({ name, arguments: args }) })
 * if (said.decision === 'block') return said.reason
 * const result = await tool(said.value)
 * hooks.endTurn(ids)
 */
export function runHooks(hooks: HostHooksOptions['hooks'], options: RunHooksOptions): HostHooks {
  return new HostHooks({ ...options, plugin: tracedBy(options), hooks, capabilities: ALL_CAPABILITIES })
}

function tracedBy({ host, plugin, report = toStandardError }: RunHooksOptions): () => TracedPlugin | undefined {
  if (plugin !== undefined) return typeof plugin === 'function' ? plugin : () => plugin
  let isSaid = false
  return () => {
    const running = runningPlugin(host)
    if (running === undefined && !isSaid) {
      isSaid = true
      quietly(() =>
        report(`hookspan: ${host}: what hooks decide is not traced: ${ADVICE} createPlugin({ host: '${host}' })`),
      )
    }
    return running
  }
}

function runningPlugin(host: string): TracedPlugin | undefined {
  const running = (globalThis as { [PLUGINS]?: RunningPlugins })[PLUGINS]?.get(host)
  return running?.isOver() === false ? (running.plugin as TracedPlugin) : undefined
}

const PLUGINS = Symbol.for('hookspan.plugins')
const ADVICE = 'no plugin of this host runs in this process; make one before, by'

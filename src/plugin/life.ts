import type { RunningPlugins } from '../contract/running-plugins.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { Plugin } from './plugin.ts'

/** The state of a plugin that `register` needs and its host does not see. */
export interface PluginState {
  readonly report: Diagnostics
  /** True if the plugin was shut down, by any caller. It records no more. */
  isOver: boolean
}

const lives = new WeakMap<Plugin, PluginState>()
const PLUGINS = Symbol.for('hookspan.plugins')

export function withLife(plugin: Plugin, life: PluginState): Plugin {
  lives.set(plugin, life)
  return plugin
}

export function lifeOf(plugin: Plugin): PluginState | undefined {
  return lives.get(plugin)
}

/** Registers the plugin that traces a host in this process, until another one does or it is shut down. */
export function noteRunning(host: string, plugin: Plugin): Plugin {
  const shared = globalThis as { [PLUGINS]?: RunningPlugins }
  shared[PLUGINS] ??= new Map()
  shared[PLUGINS].set(host, { plugin, isOver: () => lifeOf(plugin)?.isOver !== false })
  return plugin
}

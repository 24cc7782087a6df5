interface RunningPlugin {
  readonly plugin: object
  /** Returns true after the plugin was shut down. */
  readonly isOver: () => boolean
}

/**
 * On `globalThis`, under `Symbol.for('hookspan.plugins')`: the newest plugin of each host, by the host's name. All
 * copies of this package in a process share it, because an agent may have loaded `hookspan` and `hookspan/hooks` from
 * two places.
 */
export type RunningPlugins = Map<string, RunningPlugin>

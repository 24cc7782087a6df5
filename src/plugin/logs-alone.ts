import type { ResolvedConfig } from './config/types.ts'

/** An agent's configuration, reduced to log events: the agent's own plugin handles everything else. */
export function logsAlone(config: ResolvedConfig): ResolvedConfig {
  const takers = config.backends.filter(({ logs }) => logs === true)
  const backends = takers.map(backend => ({ ...backend, traces: false, metrics: false }))
  return { ...config, local_log: false, prometheus: undefined, backends }
}

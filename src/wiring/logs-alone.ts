import type { ResolvedConfig } from '../config/types.ts'

/** The configuration of an agent, for who tells log events beside it and nothing else: what the agent does is left to it. */
export function logsAlone(config: ResolvedConfig): ResolvedConfig {
  const takers = config.backends.filter(({ logs }) => logs === true)
  const backends = takers.map(backend => ({ ...backend, traces: false, metrics: false }))
  return { ...config, local_log: false, prometheus: undefined, backends }
}

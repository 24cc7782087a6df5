import type { PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'

/** Whose turn it is, as a list is to tell. */
export interface AgentTurn {
  readonly agent: string
  readonly session: string
}

/** Two agents that share a process, told apart by `meta.host`, one that its records name, and two with a process each. */
export const AGENT_TURNS: readonly AgentTurn[] = [
  { agent: 'writer', session: '01988f1a-0001-7000-8000-00000000aaaa' },
  { agent: 'writer', session: '01988f1a-0001-7000-8000-00000000aaaa' },
  { agent: 'reviewer', session: '01988f1a-0001-7000-8000-00000000bbbb' },
  { agent: 'planner', session: '01988f1a-0001-7000-8000-00000000cccc' },
  { agent: 'pi', session: '01988f1a-0001-7000-8000-00000000dddd' },
  { agent: 'pi', session: '01988f1a-0001-7000-8000-00000000eeee' },
  { agent: 'claude-agent-sdk', session: '01988f1a-0001-7000-8000-00000000ffff' },
]

const PROCESS_OF: Readonly<Record<string, string>> = { pi: 'pi', 'claude-agent-sdk': 'claude-agent-sdk' }
export const SHARED_PROCESS = 'gateway'

/** Records the turns of all of them, the same question in each; resolves when they are delivered. */
export async function feedAgents(home: string, options: PluginOptions): Promise<void> {
  const plugins = new Map<string, ReturnType<typeof createPluginIn>>()
  for (const [number, { agent, session }] of AGENT_TURNS.entries()) {
    const host = PROCESS_OF[agent] ?? SHARED_PROCESS
    const plugin = plugins.get(host) ?? createPluginIn({ ...options, host }, { env: {}, home, isReplay: false })
    plugins.set(host, plugin)
    const ids = { session_id: session, turn_id: `turn ${number}` }
    const isNamed = agent === 'planner'
    const meta = { host: isNamed ? host : agent }
    plugin.emit('on_session_start', { ...ids, ...(isNamed && { agent_name: agent }) }, meta)
    plugin.emit('pre_llm_call', { ...ids, model: 'qwen3-coder-30b', user_message: 'Is the build green?' }, meta)
    plugin.emit('on_session_end', { ...ids, completed: true }, meta)
  }
  await Promise.all([...plugins.values()].map(plugin => plugin.shutdown()))
}

/** Hooks that act, asked as an agent asks them, and what its trace then says. */
import { expect, test } from 'vitest'
import {
  block,
  createHooks,
  defineHook,
  type HookIds,
  inject,
  type Phase,
  rewrite,
  runHooks,
  toolCallOf,
} from '../../src/guards/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { seriesText, text } from './scenes.ts'

const noRm = defineHook({
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (/\brm\b/.test(tool.command ?? '') ? block('Do not delete.', { detail: 'rm' }) : undefined),
})
const inHome = defineHook({
  name: 'in-home',
  decisions: ['rewrite'],
  beforeTool: ({ tool }) => (tool.command === 'ls' ? rewrite({ ...tool.arguments, cwd: '/home/me' }) : undefined),
})
const rules = defineHook({
  name: 'rules',
  decisions: ['inject'],
  beforeModel: () => inject('Tests first.', 'system'),
})
const broken = defineHook({
  name: 'broken',
  afterTool: () => {
    throw new TypeError('no such file')
  },
})

const SESSION = { session_id: 's1', turn_id: 't1' }
const ATTRIBUTES = ['hermes.hook.verdict', 'hermes.hook.action', 'hermes.tool.outcome', 'hermes.tool.blocked_by']

/** An agent of one's own, that does what the hooks say. */
class Agent {
  readonly plugin: TestPlugin = createTestPlugin({ host: 'agent' })
  readonly hooks = runHooks(createHooks([noRm, inHome, rules, broken]), {
    host: 'agent',
    plugin: () => this.plugin,
    report: () => undefined,
  })

  tell(hook: string, payload: object = {}): void {
    this.plugin.emitUntyped(hook, { ...SESSION, ...payload }, { at: performance.timeOrigin + performance.now() })
  }

  async call(id: string, command: string): Promise<void> {
    const call = { tool_call_id: id, tool_name: 'terminal', args: { command }, api_request_id: 'r1' }
    const tool = toolCallOf({ name: 'terminal', arguments: { command }, id })
    const about = (): HookIds => ({ sessionId: 's1', turnId: 't1', toolCallId: id })
    this.tell('pre_tool_call', call)
    const said = await this.hooks.run('beforeTool', about(), { tool })
    const isBlocked = said.decision === 'block'
    const after = { tool, result: 'done', isError: false, attempt: 0 }
    if (!isBlocked) await this.hooks.run('afterTool' satisfies Phase, about(), after)
    // As a host tells it to whom the block is an error of the tool.
    this.tell('post_tool_call', { ...call, status: isBlocked ? 'error' : 'ok', result: said.reason ?? 'done' })
  }
}

test('shows which guard decided what, about what', async () => {
  const agent = new Agent()
  agent.tell('on_session_start')
  agent.tell('pre_llm_call', { model: 'qwen3' })
  agent.tell('pre_api_request', { api_request_id: 'r1', model: 'qwen3' })
  const request = { sessionId: 's1', turnId: 't1', requestId: 'r1' }
  await agent.hooks.run('beforeModel', request, { model: 'qwen3', messages: [] })
  agent.tell('post_api_request', { api_request_id: 'r1' })
  await agent.call('c1', 'rm -rf build')
  await agent.call('c2', 'ls')
  agent.tell('post_llm_call')
  agent.tell('on_session_end', { completed: true })
  agent.hooks.endTurn(request)

  const decided = agent.plugin.tree({ attributes: ATTRIBUTES }).split('\n')
  // One that passes is drawn where it took long, as on a busy machine it may.
  expect(decided.filter(line => !line.includes('hermes.hook.verdict=pass')).join('\n')).toBe(text`
    agent OK
      llm.qwen3 OK
        api.qwen3 OK
          hook.rules OK [hermes.hook.verdict=inject, hermes.hook.action=injected]
          tool.terminal OK [hermes.tool.outcome=blocked, hermes.tool.blocked_by=no-rm]
            hook.no-rm OK [hermes.hook.verdict=block, hermes.hook.action=blocked]
          tool.terminal OK [hermes.tool.outcome=completed]
            hook.in-home OK [hermes.hook.verdict=rewrite, hermes.hook.action=rewritten]
            hook.broken ERROR threw [hermes.hook.verdict=failed, hermes.hook.action=ran]
  `)
  expect(await seriesText(agent.plugin, 'hermes.hook.runs')).toEqual([
    'hook_name=broken phase=after_tool verdict=failed failure=threw → 1',
    'hook_name=in-home phase=before_tool verdict=pass → 1',
    'hook_name=in-home phase=before_tool verdict=rewrite → 1',
    'hook_name=no-rm phase=before_tool verdict=block → 1',
    'hook_name=no-rm phase=before_tool verdict=pass → 1',
    'hook_name=rules phase=before_model verdict=inject → 1',
  ])
  expect(agent.plugin.reported).toEqual([])
})

import { expect, test } from 'vitest'
import type { PluginOptions } from '../../src/index.ts'
import { createTestPlugin } from '../../src/testing.ts'

const SESSION = '01988f1a-0001-7000-8000-00000000aaaa'

/** The names of the roots of one turn each. */
async function roots(options: PluginOptions, turns: readonly { host?: string; session?: string; agent?: string }[]) {
  const plugin = createTestPlugin({ host: 'gateway', ...options })
  for (const [number, { host, session = SESSION, agent }] of turns.entries()) {
    const ids = { session_id: session, turn_id: `t${number}` }
    const meta = host === undefined ? {} : { host }
    plugin.emit('on_session_start', { ...ids, ...(agent && { agent_name: agent }) }, meta)
    plugin.emit('on_session_end', { ...ids, completed: true }, meta)
  }
  const names = plugin.spans().map(({ name }) => name)
  await plugin.shutdown()
  return names
}

test('a root has its name alone, unless a label is asked for', async () => {
  expect(await roots({}, [{ host: 'writer' }, { agent: 'scout' }])).toEqual(['agent', 'agent'])
})

test('the agent, whichever way it is known: by the record, by the setting, by the host', async () => {
  const turns = [{ host: 'writer' }, { host: 'reviewer' }, { agent: 'scout' }, {}]
  expect(await roots({ root_label: 'agent' }, turns)).toEqual([
    'agent writer',
    'agent reviewer',
    'agent scout',
    'agent gateway',
  ])
  expect(await roots({ root_label: 'agent', agent_name: 'bot' }, [{ host: 'writer' }])).toEqual(['agent bot'])
})

test('and the end of the session, by which those of one day differ', async () => {
  const turns = [{ host: 'writer' }, { host: 'writer', session: SESSION.replace(/a/g, 'b') }, { session: 'short' }]
  expect(await roots({ root_label: 'session' }, turns)).toEqual([
    'agent writer …0000aaaa',
    'agent writer …0000bbbb',
    'agent gateway short',
  ])
})

test('an agent that the name says already is not said twice', async () => {
  const options = { root_label: 'agent', span_names: 'semconv' } as const
  expect(await roots(options, [{ agent: 'scout' }, { host: 'writer' }])).toEqual([
    'invoke_agent scout',
    'invoke_agent writer',
  ])
})

test('a secret is masked there, too', async () => {
  const key = `sk-${'proj'}-${'A1b2C3d4'.repeat(5)}`
  const [name = ''] = await roots({ root_label: 'session' }, [{ agent: key, session: key }])
  expect(name).toMatch(/^agent /)
  expect(name).not.toContain('C3d4')
})

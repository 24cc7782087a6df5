import { expect, test } from 'vitest'
import { Rollout } from '../../src/agents/codex/receiver-adapter.ts'
import type { HostEvent } from '../../src/agents/host-event.ts'
import { replayEvents } from './replay-fixture.ts'
import { DIRECTORY, workspaces } from './workspaces.ts'

async function workspacesOf(host: string, events: readonly HostEvent[]): Promise<readonly object[]> {
  return workspaces((await replayEvents(host, events)).plugin)
}

test('keeps the first directory of a session: hooks report each later one that the agent changes to', async () => {
  const hook = (at: number, hook_event_name: string, cwd: string, turn_id: string): HostEvent => {
    return { event: hook_event_name, at, data: { hook_event_name, session_id: 's1', turn_id, cwd, prompt: 'Hi' } }
  }
  const events = [
    hook(1000, 'UserPromptSubmit', '/srv/shop', 't1'),
    hook(2000, 'Stop', '/srv/shop/src', 't1'),
    hook(3000, 'UserPromptSubmit', '/srv/shop/src', 't2'),
    hook(4000, 'Stop', '/srv/shop/src', 't2'),
  ]
  expect(await workspacesOf('codex', events)).toEqual([{ [DIRECTORY]: 'shop' }, { [DIRECTORY]: 'shop' }])
})

const GIT = { 'vcs.repository.name': 'web-shop', 'vcs.ref.head.name': 'fix/login' }

test('records the repository and the branch of a rollout of Codex', async () => {
  const lines = new Rollout('', { session_id: 's1' })
  const git = { commit_hash: '9f1', branch: 'fix/login', repository_url: 'git@github.com:acme/web-shop.git' }
  const payload = { id: 's1', model_provider: 'openai', git }
  lines.readLine(JSON.stringify({ timestamp: '2026-11-23T04:05:55.000Z', type: 'session_meta', payload }))
  const { repository, branch } = lines
  const prompt = { session_id: 's1', turn_id: 't1', prompt: 'Hi' }
  const events = [
    { event: 'UserPromptSubmit', at: 1000, data: prompt },
    { event: 'rollout:read', data: { session_id: 's1', repository, branch } },
    { event: 'Stop', at: 2000, data: prompt },
  ]
  expect(await workspacesOf('codex', events)).toEqual([GIT])
})

test('records the repository and the branch of a session file of Copilot', async () => {
  const session_id = 's1'
  const context = { cwd: '/srv/shop', gitRoot: '/srv/shop', repository: 'acme/web-shop', branch: 'fix/login' }
  const events = [
    { event: 'UserPromptSubmit', at: 1000, data: { session_id, prompt: 'Hi' } },
    { event: 'file:session.start', at: 1001, data: { session_id, line_id: '1', context } },
    { event: 'file:user.message', at: 1002, data: { session_id, line_id: '2', content: 'Hi', interactionId: 'i1' } },
    { event: 'file:read', data: { session_id } },
    { event: 'file:session.shutdown', at: 1900, data: { session_id, line_id: '3', shutdownType: 'routine' } },
  ]
  expect(await workspacesOf('copilot', events)).toEqual([{ ...GIT, [DIRECTORY]: 'shop' }])
})

import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { fixtureLine } from './recording.ts'

const HOME = '/somewhere/hookspan-live-home-abc'

afterEach(() => vi.unstubAllEnvs())

function recorded(data: unknown): unknown {
  const line = fixtureLine(JSON.stringify({ at: 1, event: 'e', data }), HOME)
  return (JSON.parse(line) as { data: unknown }).data
}

test('removes paths of this machine', () => {
  vi.stubEnv('HOME', '/home/somebody')
  vi.stubEnv('HOOKSPAN_LIVE_DIR', '/cache/live/host@1.0.0')
  vi.stubEnv('HOOKSPAN_LIVE_HOOKSPAN', '/scratch/installed/node_modules/hookspan')
  const repository = fileURLToPath(new URL('../..', import.meta.url))
  expect(
    recorded({
      cwd: `${HOME}/project`,
      transcript: `${HOME}/.claude/projects/-somewhere-hookspan-live-home-abc-project/s.jsonl`,
      host: '/cache/live/host@1.0.0/node_modules/x',
      node: '/cache/live/node@24/bin/node',
      plugin: '/scratch/installed/node_modules/hookspan/dist/index.js',
      tap: `${repository}test/live/tap.mjs`,
      user: '/home/somebody/notes',
    }),
  ).toEqual({
    cwd: '/workspace/project',
    transcript: '/workspace/.claude/projects/-workspace-project/s.jsonl',
    host: '/workspace/host/node_modules/x',
    node: '/workspace/hosts/node@24/bin/node',
    plugin: '/workspace/hookspan/dist/index.js',
    tap: '/workspace/repository/test/live/tap.mjs',
    user: '/workspace/user/notes',
  })
})

test('names the model server, without a port', () => {
  expect(recorded(['http://127.0.0.1:40123/v1', 'http://localhost:1/'])).toEqual([
    'http://fake-model.local/v1',
    'http://fake-model.local/',
  ])
})

test('keeps the beginning of a long text', () => {
  expect(recorded({ short: 'a'.repeat(400), long: `500: boom ${'b'.repeat(1000)}` })).toEqual({
    short: 'a'.repeat(400),
    long: `500: boom ${'b'.repeat(190)} <omitted 810>`,
  })
})

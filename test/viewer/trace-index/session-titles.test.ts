import { expect, test } from 'vitest'
import { exportLine } from '../../reading/sample-turn.ts'
import { LogScene } from './index-scene.ts'

function turn(index: number, prompt: string, attributes: Readonly<Record<string, string>> = {}): string {
  return exportLine({
    id: '1',
    trace: `f${index}`.repeat(16),
    name: 'agent',
    from: index * 1000,
    to: index * 1000 + 100,
    attributes: { 'hermes.span.kind': 'session', 'session.id': 's1', 'input.value': prompt, ...attributes },
  })
}

test('names a session by its first prompt in lists, in its page and in the usage', async () => {
  const scene = new LogScene()
  const background = turn(0, 'Review the memory', { 'hermes.session.kind': 'background' })
  scene.lines('1000-1.jsonl', background, turn(1, 'Fix the login'), turn(2, 'And the logout'))
  const opened = scene.open()
  await opened.catchUp()
  const names = { title: 'Fix the login', latestTitle: 'And the logout' }
  expect((await opened.sessions()).rows).toMatchObject([names])
  expect((await opened.session('s1'))?.session).toMatchObject(names)
  expect((await opened.usage({ by: 'session' })).sessions).toMatchObject([{ title: 'Fix the login' }])
})

test('repeats no prompt of a session with one turn', async () => {
  const scene = new LogScene()
  scene.lines('1000-1.jsonl', turn(1, 'Fix the login'))
  const opened = scene.open()
  await opened.catchUp()
  expect((await opened.sessions()).rows[0]).not.toHaveProperty('latestTitle')
})

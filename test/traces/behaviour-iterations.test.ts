/** What a host says of the iterations of its loop, and of what else happens: events of the turn. */
import { expect, test } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { answered, began, only, used } from './scenes.ts'

const SAID: Step = [120, 'on_iteration_start', { session_id: 's1', iteration: 2, confidence: 0.4 }]
const EVENT = {
  name: 'hermes.turn.iteration',
  at: START_AT + 120,
  attributes: { 'hermes.iteration.number': 2, 'hermes.iteration.confidence': 0.4 },
}

test('is an event of the turn, also while a tool is at work', () => {
  const [pre, post] = used(100) as [Step, Step]
  const plugin = told([...began(), pre, SAID, post, ...answered(300)])
  expect(only(plugin, 'agent').events).toMatchObject([EVENT])
  expect(only(plugin, 'tool.terminal').events).toEqual([])
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
})

test('opens nothing without a turn', () => {
  const plugin = told([SAID])
  expect(plugin.spans()).toEqual([])
  expect(plugin.stats().hooks).toMatchObject({ ignored: 1, error: 0 })
})

test('is any other event of the turn, even if the sender may have guessed the turn', () => {
  const said: Step = [130, 'on_turn_event', { session_id: 's1', name: 'command:stop' }]
  const plugin = told([...began(), said, ...answered(300)])
  expect(only(plugin, 'agent').events).toEqual([
    { name: 'hermes.turn.event', at: START_AT + 130, attributes: { 'hermes.event.name': 'command:stop' } },
  ])
  expect(told([said]).stats().hooks).toMatchObject({ ignored: 1, error: 0 })
})

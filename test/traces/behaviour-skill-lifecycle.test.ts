/** What a host says of its skills: an event, on the tool that is at work or on the turn. */
import { expect, test } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { answered, began, only, used } from './scenes.ts'

const SAID: Step = [
  120,
  'on_skill_lifecycle',
  { session_id: 's1', action: 'patched', skill_name: 'release', provenance: 'agent', use_count: 3, reused: true },
]
const EVENT = {
  name: 'hermes.skill.lifecycle',
  at: START_AT + 120,
  attributes: {
    'hermes.skill.name': 'release',
    'hermes.skill.action': 'patched',
    'hermes.skill.provenance': 'agent',
    'hermes.skill.use_count': 3,
  },
}

test('is an event of the tool that is at work', () => {
  const [pre, post] = used(100) as [Step, Step]
  const plugin = told([...began(), pre, SAID, post, ...answered(300)])
  expect(only(plugin, 'tool.terminal').events).toMatchObject([EVENT])
  expect(only(plugin, 'agent').events).toEqual([])
})

test('is an event of the turn where no tool is', () => {
  const plugin = told([...began(), SAID, ...answered(300)])
  expect(only(plugin, 'agent').events).toMatchObject([EVENT])
  expect(plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
})

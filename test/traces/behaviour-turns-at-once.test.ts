/** Hermes runs two turns of one session at once, and another process continues the session of one that was killed. */
import { describe, expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import { asked, TURN, text, used } from './scenes.ts'

const SHOWN = { attributes: ['hermes.turn.final_status', 'hermes.turn.number'], durations: true }
const HERMES = { host: 'hermes' }
const TURN2 = { session_id: 's1', turn_id: 't2' }

const prompt = (at: number, ids: object): Step => [at, 'pre_llm_call', { ...ids, model: 'qwen3' }]
const completed = (at: number, ids: object): Step[] => [
  [at, 'post_llm_call', ids],
  [at + 10, 'on_session_end', { ...ids, completed: true }],
]

describe('the prompt of another turn in Hermes', () => {
  const atOnce = (...steps: Step[]): string =>
    told(
      [prompt(0, TURN), ...steps, ...completed(20_000, TURN), ...completed(21_000, TURN2)].sort(([a], [b]) => a - b),
      HERMES,
    ).tree(SHOWN)

  test('leaves a turn running whose tool is running', () => {
    const [begun, ended] = used(100, { api_request_id: 'r1' }) as [Step, Step]
    const later: Step = [6000, 'post_tool_call', ended[2] as object]
    expect(atOnce(...asked(0), begun, prompt(5000, TURN2), later)).toBe(text`
      agent OK 20.0 s [hermes.turn.final_status=completed, hermes.turn.number=1]
        llm.qwen3 OK 20.0 s
          api.qwen3 OK 100 ms
            tool.terminal OK 5.9 s

      agent OK 16.0 s [hermes.turn.final_status=completed, hermes.turn.number=2]
        llm.qwen3 OK 16.0 s
    `)
  })

  test('leaves a turn running whose first request is still missing', () => {
    expect(atOnce(prompt(300, TURN2), ...asked(400))).toContain('agent OK 20.0 s [hermes.turn.final_status=completed')
  })

  test('interrupts a turn that has been idle', () => {
    expect(atOnce(...asked(0), prompt(5000, TURN2))).toContain('final_status=interrupted, hermes.turn.number=1')
  })

  test('ends a turn as failed whose last request failed for good', () => {
    const error: Step = [10, 'api_request_error', { ...TURN, api_request_id: 'r1', error: 'no', retryable: false }]
    expect(atOnce(...asked(0).slice(0, 1), error, prompt(500, TURN2))).toContain('final_status=failed')
  })
})

test('interrupts a running turn at the prompt of another one in any other host', () => {
  const plugin = told([prompt(0, TURN), ...asked(0).slice(0, 1), prompt(500, TURN2)], { host: 'other' })
  expect(plugin.tree(SHOWN)).toContain('final_status=interrupted, hermes.turn.number=1')
})

describe('a session that another process continues', () => {
  const A = '00000000000000aa'
  const B = '00000000000000bb'
  const sentBy = (sender: string, steps: readonly Step[]): Step[] =>
    steps.map(([at, hook, payload = {}], index) => {
      return [at, hook, payload, { delivery_id: `${sender}-${String(index).padStart(8, '0')}` }]
    })
  const KILLED = [prompt(0, TURN), ...asked(0), used(200, { api_request_id: 'r1' })[0] as Step]

  test.each<[string, Step]>([
    ['a prompt', prompt(16_000, TURN2)],
    ['a start of the session', [16_000, 'on_session_start', { session_id: 's1' }]],
  ])('ends the turn of the process before it at its last sign of life: %s', (_what, next) => {
    const plugin = told([...sentBy(A, KILLED), ...sentBy(B, [next])], HERMES)
    expect(plugin.tree(SHOWN)).toBe(text`
      agent OK 200 ms [hermes.turn.final_status=interrupted, hermes.turn.number=1]
        llm.qwen3 UNSET 200 ms (incomplete: turn_ended)
          api.qwen3 OK 100 ms
            tool.terminal UNSET 0 ms (incomplete: turn_ended)
    `)
  })

  test('is the same turn if the hook repeats its id', () => {
    const [, ended] = used(150, { api_request_id: 'r1' }) as [Step, Step]
    const plugin = told([...sentBy(A, KILLED), ...sentBy(B, [ended, ...completed(300, TURN)])], HERMES)
    expect(plugin.tree(SHOWN)).toContain('agent OK 310 ms [hermes.turn.final_status=completed')
  })

  test.each(['d1', 'b1f5c9a2-0000-4000-8000-00000000000a', '00000000000000bb-1'])(
    'is not known by a delivery id of another form: %s',
    delivery_id => {
      const plugin = told([...sentBy(A, KILLED), [16_000, 'pre_llm_call', TURN2, { delivery_id }]], { host: 'other' })
      expect(plugin.tree(SHOWN)).toContain('agent OK 16.0 s [hermes.turn.final_status=interrupted')
    },
  )
})

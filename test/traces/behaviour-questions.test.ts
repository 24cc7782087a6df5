/** Waiting for people: an approval that a guardian passes on, and questions that are none. */
import { describe, expect, test } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, attributes, began, only, seriesText, TURN, text, used } from './scenes.ts'

const SHOWN = { attributes: ['hermes.approval.choice', 'hermes.approval.granted'], durations: true }
const ASKED = { ...TURN, tool_call_id: 'c1', pattern_key: 'rm', command: 'rm -rf x' }
const [TOOL, TOOL_END] = used(100) as [Step, Step]
const side: Step[] = [
  [120, 'pre_auxiliary_call', { ...TURN, aux_task: 'approval', api_request_id: 'a1' }],
  [180, 'post_auxiliary_call', { ...TURN, aux_task: 'approval', api_request_id: 'a1' }],
]
const ESCALATED: Step[] = [
  ...began(),
  TOOL,
  [110, 'pre_approval_request', { ...ASKED, surface: 'smart' }],
  ...side,
  [190, 'pre_approval_request', { ...ASKED, surface: 'cli' }],
  [191, 'on_human_input_request', { session_id: 's1', kind: 'approval', request_id: 'h1', prompt: 'rm -rf x' }],
  [5190, 'on_human_input_resolved', { session_id: 's1', kind: 'approval', request_id: 'h1', outcome: 'once' }],
  [5190, 'post_approval_response', { ...ASKED, surface: 'cli', choice: 'once' }],
  used(5250)[1] as Step,
  ...answered(5400),
]

describe('an approval that a guardian model passes on', () => {
  test('has escalated, with its side call below it, and the user is asked beside it', () => {
    expect(told(ESCALATED).tree(SHOWN)).toBe(text`
      agent OK 5.4 s
        llm.qwen3 OK 5.4 s
          tool.terminal OK 5.2 s
            approval.rm OK 80 ms [hermes.approval.choice=escalated]
              aux.approval OK 60 ms
            approval.rm OK 5.0 s [hermes.approval.choice=once, hermes.approval.granted=true]
    `)
  })

  test('is one approval, and counts the wait for the user once', async () => {
    const plugin = told(ESCALATED)
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.approval_count': 1,
      'hermes.turn.approval_wait_ms': 5000,
    })
    expect(await seriesText(plugin, 'hermes.approval.count')).toEqual([
      'choice=escalated pattern_key=rm → 1',
      'choice=once pattern_key=rm → 1',
    ])
  })

  test('is no repeat if the clock stands still', () => {
    const still: Step[] = ESCALATED.map(([at, ...step]) => (at > 100 && at < 5190 ? [110, ...step] : [at, ...step]))
    expect(all(told(still), 'approval.rm').map(span => span.attributes['hermes.approval.choice'])).toEqual([
      'escalated',
      'once',
    ])
  })

  test('is decided if the guardian decides it', () => {
    const answer: Step = [190, 'post_approval_response', { ...ASKED, surface: 'smart', choice: 'smart_approve' }]
    const plugin = told([...ESCALATED.slice(0, 4), ...side, answer, TOOL_END, ...answered(300)])
    expect(attributes(plugin, 'approval.rm')).toMatchObject({
      'hermes.approval.choice': 'smart_approve',
      'hermes.approval.granted': true,
    })
    expect(attributes(plugin, 'agent')['hermes.turn.approval_count']).toBe(1)
  })

  test('is no parent of a side call of another kind', () => {
    const title: Step = [120, 'pre_auxiliary_call', { ...TURN, aux_task: 'title', api_request_id: 'a1' }]
    const plugin = told([...began(), TOOL, [110, 'pre_approval_request', ASKED], title])
    plugin.emitUntyped('post_auxiliary_call', title[2], { at: START_AT + 130 })
    feedEnd(plugin)
    expect(only(plugin, 'aux.title').parentSpanId).toBe(only(plugin, 'agent').spanId)
  })
})

function feedEnd(plugin: ReturnType<typeof told>): void {
  for (const [at, hook, payload] of answered(900)) plugin.emitUntyped(hook, payload ?? {}, { at: START_AT + at })
}

describe('a question to the user', () => {
  const QUESTION = { session_id: 's1', kind: 'clarify', request_id: 'h1', prompt: 'red or blue?', platform: 'cli' }
  const asked = (tool: object): Step[] => {
    return [
      ...began(),
      used(100, tool)[0] as Step,
      [110, 'on_human_input_request', QUESTION],
      [3110, 'on_human_input_resolved', { ...QUESTION, outcome: 'submitted' }],
      used(3070, tool)[1] as Step,
      ...answered(3200),
    ]
  }

  test('is a wait like an approval, below the tool that asks; it is answered, not granted', () => {
    const plugin = told(asked({ tool_name: 'clarify' }))
    expect(plugin.tree(SHOWN)).toBe(text`
      agent OK 3.2 s
        llm.qwen3 OK 3.2 s
          tool.clarify OK 3.0 s
            question.clarify OK 3.0 s [hermes.approval.choice=submitted]
    `)
    expect(attributes(plugin, 'question.clarify')).toMatchObject({
      'hermes.approval.description': 'red or blue?',
      'hermes.approval.surface': 'cli',
      'hermes.approval.duration_ms': 3000,
    })
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.approval_count': 1,
      'hermes.turn.approval_wait_ms': 3000,
    })
  })

  test('finds the tool that asks among others by its name', () => {
    const other: Step = [95, 'pre_tool_call', { ...TURN, tool_name: 'terminal', tool_call_id: 'c9' }]
    const steps = asked({ tool_name: 'clarify' })
    const plugin = told([...steps.slice(0, 2), other, ...steps.slice(2)])
    expect(only(plugin, 'question.clarify').parentSpanId).toBe(only(plugin, 'tool.clarify').spanId)
  })

  test('ends with its turn if it is not answered', () => {
    const plugin = told([...began(), [110, 'on_human_input_request', QUESTION], ...answered(300)])
    expect(attributes(plugin, 'question.clarify')['hermes.span.incomplete']).toBe('turn_ended')
  })
})

/** What is said once and true from then on, and the history of a conversation. */
import { describe, expect, test } from 'vitest'
import { feedSteps, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, childTurn, delegated, TURN, used } from './scenes.ts'

const WITH_SENDER = { capture_sender_id: true } as const

describe('the sender', () => {
  test('may change in a later turn', () => {
    const plugin = told(
      [
        ...began({ sender_id: 'ann', platform: 'slack' }),
        ...answered(100),
        [200, 'pre_llm_call', { ...TURN, turn_id: 't2', sender_id: 'bob', platform: 'slack' }],
        ...asked(250, { turn_id: 't2', model: 'second' }),
        ...answered(400, { turn_id: 't2' }),
      ],
      WITH_SENDER,
    )
    expect(all(plugin, 'agent').map(root => root.attributes['user.id'])).toEqual(['slack:ann', 'slack:bob'])
    expect(attributes(plugin, 'api.second')['user.id']).toBe('slack:bob')
  })

  test('stands alone without a platform', () => {
    const plugin = told([...began({ sender_id: 'ann', platform: undefined }), ...answered(100)], WITH_SENDER)
    expect(attributes(plugin, 'agent')).toMatchObject({ 'hermes.sender.id': 'ann', 'user.id': 'ann' })
  })

  test('is separate for each session', () => {
    const plugin = told(
      [...began({ sender_id: 'ann' }), [30, 'pre_llm_call', { session_id: 's2', turn_id: 'u1', model: 'small' }]],
      WITH_SENDER,
    )
    feedSteps(plugin, [[60, 'post_llm_call', { session_id: 's2', turn_id: 'u1' }]])
    expect(attributes(plugin, 'llm.small')).not.toHaveProperty('user.id')
  })
})

describe('a correlation id', () => {
  const CORRELATED: Step = [0, 'on_session_start', { session_id: 's1', correlation_id: 'corr-1' }]

  test('applies to the later turns of its session', () => {
    const plugin = told([
      CORRELATED,
      ...answered(100),
      [200, 'pre_llm_call', { ...TURN, turn_id: 't2', model: 'qwen3' }],
      ...used(250, { turn_id: 't2' }),
      ...answered(400, { turn_id: 't2' }),
    ])
    for (const span of plugin.spans()) expect(span.attributes['correlation.id']).toBe('corr-1')
  })

  test('is on the root and on what follows if it is late', () => {
    const plugin = told([
      ...began(),
      [50, 'on_session_start', { session_id: 's1', correlation_id: 'corr-1' }],
      ...used(100),
      ...answered(200),
    ])
    expect(attributes(plugin, 'agent')['correlation.id']).toBe('corr-1')
    expect(attributes(plugin, 'tool.terminal')['correlation.id']).toBe('corr-1')
  })

  test('is separate for each session', () => {
    const plugin = told([CORRELATED, delegated(50), ...childTurn(100), ...answered(300)])
    const child = all(plugin, 'agent').find(root => root.attributes['hermes.session.id'] === 'C')
    expect(child?.attributes).not.toHaveProperty('correlation.id')
  })
})

describe('the history of the conversation', () => {
  const HISTORY = [
    { role: 'user', content: 'earlier question' },
    { role: 'assistant', content: 'earlier answer' },
    { role: 'user', content: 'hello' },
  ]

  test('is not written by default', () => {
    const plugin = told([...began({ conversation_history: HISTORY }), ...answered(100)])
    expect(attributes(plugin, 'llm.qwen3')['input.value']).toBe('hello')
    expect(JSON.stringify(plugin.spans())).not.toContain('earlier')
  })

  test('is not written without content, even if configured', () => {
    const plugin = told([...began({ conversation_history: HISTORY }), ...answered(100)], {
      capture_conversation_history: true,
      content_capture: 'off',
    })
    expect(JSON.stringify(plugin.spans())).not.toContain('earlier')
  })

  test('leaves the question of the turn on the root', () => {
    const plugin = told([...began({ conversation_history: HISTORY }), ...answered(100)], {
      capture_conversation_history: true,
    })
    expect(attributes(plugin, 'agent')['input.value']).toBe('hello')
    expect(JSON.parse(String(attributes(plugin, 'llm.qwen3')['input.value']))).toEqual(HISTORY)
  })

  test('accepts a list of parts as a question', () => {
    const parts = [
      { type: 'text', text: 'look at this' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]
    const plugin = told([...began({ user_message: parts }), ...answered(100)])
    expect(attributes(plugin, 'llm.qwen3')['input.value']).toContain('look at this')
    expect(attributes(plugin, 'agent')['input.value']).toContain('look at this')
  })
})

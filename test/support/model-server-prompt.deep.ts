import { describe, expect, test } from 'vitest'
import { type Api, asking, type Json, post, serve } from './model-server/client.ts'
import type { ModelRequest } from './model-server.mjs'

/** What was asked, as the script sees it. */
async function seen(api: Api, body: Json): Promise<ModelRequest> {
  const server = await serve(() => ({}))
  await post(server, api, { model: 'm', ...body })
  return server.requests[0] as ModelRequest
}

function chatCall(...ids: string[]): Json {
  const tool_calls = ids.map(id => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } }))
  return { role: 'assistant', content: null, tool_calls }
}

describe('the prompt of a request', () => {
  const user = (content: unknown): Json => ({ role: 'user', content })
  const result = (tool_call_id: string, content = 'out'): Json => ({ role: 'tool', tool_call_id, content })

  test.each<[string, Json[], Partial<ModelRequest>]>([
    ['no message', [{ role: 'system', content: 'be kind' }], { prompt: '', toolResults: 0, system: 'be kind' }],
    [
      'the last one',
      [user('one'), { role: 'assistant', content: 'yes' }, user('two')],
      { prompt: 'two', toolResults: 0 },
    ],
    ['of several in a row the last', [user('context'), user('two')], { prompt: 'two' }],
    [
      'parts of one message',
      [
        user([
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ]),
      ],
      { prompt: 'a\nb' },
    ],
    [
      'with results',
      [user('one'), chatCall('c1', 'c2'), result('c1', 'x'), result('c2', 'y')],
      {
        prompt: 'one',
        toolResults: 2,
        lastToolResults: [
          { id: 'c1', text: 'x' },
          { id: 'c2', text: 'y' },
        ],
      },
    ],
    [
      'with something of the host after the results',
      [user('one'), chatCall('c1'), result('c1'), user('remember this'), user('and this')],
      { prompt: 'one', toolResults: 1, lastToolResults: [{ id: 'c1', text: 'out' }] },
    ],
    [
      'with such a thing in the middle',
      [user('one'), chatCall('c1'), result('c1'), user('remember this'), chatCall('c2'), result('c2', 'y')],
      { prompt: 'one', toolResults: 2, lastToolResults: [{ id: 'c2', text: 'y' }] },
    ],
    [
      'results before the prompt are not counted',
      [user('one'), chatCall('c1'), result('c1'), { role: 'assistant', content: 'yes' }, user('two')],
      { prompt: 'two', toolResults: 0, lastToolResults: [] },
    ],
    [
      'without what OpenClaw adds',
      [
        user('[Sun 2026-11-22 04:12 UTC] one\n\nRuntime: agent=main | session=s1'),
        user('<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>'),
      ],
      { prompt: 'one' },
    ],
    [
      'without what OpenClaw adds when it tries again',
      [
        user(
          '[Sun 2026-11-22 04:12 UTC] [Queued user message from a previous active turn; for context.]\none\n\n' +
            'Continue the current task from the existing transcript, and so on.\n\nRuntime: agent=main',
        ),
        user('[Sun 2026-11-22 04:12 UTC] Continue the current task from the existing transcript, and so on.'),
      ],
      { prompt: 'one' },
    ],
    [
      'not a reminder',
      [user('one'), user('<system-reminder>\nremember this\n</system-reminder>')],
      { prompt: 'one', toolResults: 0 },
    ],
  ])('is found: %s', async (_, messages, expected) => {
    expect(await seen('chat', { messages })).toMatchObject(expected)
  })

  test("excludes results, which are messages of the user in Anthropic's protocol", async () => {
    const reminder = { type: 'text', text: '<system-reminder>be brief</system-reminder>' }
    const messages = [
      { role: 'user', content: [reminder, { type: 'text', text: 'one' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'out' }] },
          { type: 'text', text: 'remember this' },
        ],
      },
    ]
    const request = await seen('messages', { system: [{ type: 'text', text: 'be kind' }], messages })
    expect(request).toMatchObject({ system: 'be kind', prompt: 'one', toolResults: 1 })
    expect(request.lastToolResults).toEqual([{ id: 't1', text: 'out' }])
  })

  test('excludes results, which are items in responses', async () => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'one' }] },
      { type: 'reasoning', id: 'r', summary: [] },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'out' },
    ]
    const request = await seen('responses', { instructions: 'be kind', input })
    expect(request).toMatchObject({ system: 'be kind', prompt: 'one', toolResults: 1 })
    expect(request.lastToolResults).toEqual([{ id: 'c1', text: 'out' }])
  })

  test('restarts the count of attempts after a result, but not for a reminder', async () => {
    const server = await serve(() => ({}))
    const after = [user('one'), chatCall('c1'), result('c1')]
    for (const messages of [[user('one')], [user('one'), user('one')], after, [...after, user('remember this')]]) {
      await post(server, 'chat', { model: 'm', messages })
    }
    expect(server.requests.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2])
  })

  test('excludes attempts with tools from one without them', async () => {
    const server = await serve(() => ({}))
    const titled = { ...asking('chat', 'one'), tools: [{ name: 'read' }] }
    for (const body of [asking('chat', 'one'), titled, titled]) await post(server, 'chat', body)
    expect(server.requests.map(({ attempt }) => attempt)).toEqual([1, 1, 2])
  })
})

import { expect, test } from 'vitest'
import { GeminiGuardProtocol, geminiGuardProtocol } from '../../../src/agents/gemini/guard-protocol.ts'
import { ask, block, inject, pass, retry, rewrite } from '../../../src/guards/index.ts'
import type { AnyVerdict } from '../../../src/guards/verdict.ts'
import { told } from '../guarded.ts'
import { replayEvents } from '../replay-fixture.ts'
import { lines, Scene, timeAt } from './scene.ts'

const BASE = { session_id: 's1', cwd: '/app', timestamp: timeAt(0) }
const PROMPT = { ...BASE, hook_event_name: 'BeforeAgent', prompt: 'Clean up' }
const MESSAGES = [
  { role: 'user', content: 'Clean up' },
  { role: 'model', content: 'I will.' },
]
const REQUEST = { ...BASE, hook_event_name: 'BeforeModel', llm_request: { model: 'gemini-3', messages: MESSAGES } }
const TOOL = {
  ...BASE,
  hook_event_name: 'BeforeTool',
  tool_name: 'run_shell_command',
  tool_input: { command: 'rm x', description: 'tidy' },
}
const RESULT = { ...TOOL, hook_event_name: 'AfterTool', tool_response: { llmContent: 'gone', returnDisplay: '' } }
const END = { ...BASE, hook_event_name: 'AfterAgent', prompt_response: 'Done.', stop_hook_active: false }

test.each<[string, object, readonly AnyVerdict[], object | undefined]>([
  ['a prompt, passed', PROMPT, [pass()], undefined],
  ['a prompt, blocked', PROMPT, [block('Not now.')], { decision: 'deny', reason: 'Not now.' }],
  [
    'a prompt, with lines beside it',
    PROMPT,
    [inject('Be brief.'), inject('Be kind.', 'system')],
    { hookSpecificOutput: { hookEventName: 'BeforeAgent', additionalContext: 'Be brief.\n\nBe kind.' } },
  ],
  ['a prompt, which cannot be rewritten', PROMPT, [rewrite('Other')], undefined],
  ['a request, passed', REQUEST, [pass()], undefined],
  [
    'a request, blocked: the reason is the answer',
    REQUEST,
    [block('No more.')],
    {
      decision: 'deny',
      reason: 'No more.',
      hookSpecificOutput: {
        hookEventName: 'BeforeModel',
        llm_response: { candidates: [{ content: { role: 'model', parts: ['No more.'] }, finishReason: 'STOP' }] },
      },
    },
  ],
  [
    'a request, rewritten, with a line behind it',
    REQUEST,
    [
      rewrite([
        { role: 'user', text: 'Look' },
        { role: 'assistant', text: 'I will.' },
      ]),
      inject('Be brief.', 'system'),
    ],
    {
      hookSpecificOutput: {
        hookEventName: 'BeforeModel',
        llm_request: {
          messages: [
            { role: 'user', content: 'Look' },
            { role: 'model', content: 'I will.' },
            { role: 'user', content: 'Be brief.' },
          ],
        },
      },
    },
  ],
  ['a tool, passed', TOOL, [pass()], undefined],
  ['a tool, blocked', TOOL, [block('No rm.', { detail: 'secret' })], { decision: 'deny', reason: 'No rm.' }],
  [
    'a tool, blocked without a word',
    TOOL,
    [block(' ')],
    { decision: 'deny', reason: 'The hook hook-1 has blocked this.' },
  ],
  [
    'a tool, to be asked about: without a user it would wait for ever',
    TOOL,
    [ask('Really?')],
    {
      decision: 'deny',
      reason: 'The hook hook-1 wants to ask the user, which is not possible here: Really?',
    },
  ],
  [
    'a tool, rewritten: all of it, without what is gone',
    TOOL,
    [rewrite({ command: 'ls' })],
    { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: { command: 'ls' } } },
  ],
  ['a tool, rewritten and then blocked', TOOL, [rewrite({}), block('No.')], { decision: 'deny', reason: 'No.' }],
  ['a tool, where nothing can be injected', TOOL, [inject('Careful.')], undefined],
  ['a result, blocked', RESULT, [block('Secrets.')], { decision: 'deny', reason: 'Secrets.' }],
  [
    'a result, with a line beside it',
    RESULT,
    [inject('It was old.')],
    { hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext: 'It was old.' } },
  ],
  ['a result, which cannot be rewritten', RESULT, [rewrite('else')], undefined],
  ['the end of a turn', END, [pass()], undefined],
  ['the end of a turn, held back', END, [retry({ feedback: 'Test it.' })], { decision: 'deny', reason: 'Test it.' }],
])('translates an answer: %s', async (_, body, verdicts, answer) => {
  expect(await told(geminiGuardProtocol, body, ...verdicts)).toEqual({ body: answer })
})

test('shows a request in the words of guards', () => {
  expect(geminiGuardProtocol.requestIn(REQUEST)).toMatchObject({
    phase: 'beforeModel',
    event: {
      model: 'gemini-3',
      messages: [
        { role: 'user', text: 'Clean up' },
        { role: 'assistant', text: 'I will.' },
      ],
    },
  })
})

test.each([
  [{ llmContent: 'text' }, false],
  [{ llmContent: 'text', error: null }, false],
  [{ llmContent: 'text', error: { message: 'no' } }, true],
  [undefined, false],
])('detects a failed tool: %j', (tool_response, isError) => {
  expect(geminiGuardProtocol.requestIn({ ...RESULT, tool_response })).toMatchObject({ event: { isError } })
})

test('gives calls the ids that they have in the trace', async () => {
  const guarding = new GeminiGuardProtocol()
  const scene = new Scene()
  const shell = (command: string): object => ({ tool_name: 'run_shell_command', tool_input: { command } })
  const asked: unknown[] = []
  const hook = async (
    name: string,
    at: number,
    data: object = {},
    ...verdicts: readonly AnyVerdict[]
  ): Promise<void> => {
    await scene.hook(name, at, data)
    const body = { ...BASE, hook_event_name: name, timestamp: timeAt(at), ...data }
    asked.push(guarding.requestIn(body)?.ids)
    await told(guarding, body, ...verdicts)
  }
  await hook('BeforeAgent', 0, { prompt: 'go' })
  scene.writes(lines.sent(10, 'go'))
  scene.writes(lines.answer(50))
  await hook('BeforeTool', 60, shell('ls'))
  await hook('AfterTool', 70, { ...shell('ls'), tool_response: { llmContent: 'text' } })
  await scene.hook('AfterAgent', 130, { prompt_response: 'Done.' })
  const { plugin } = await replayEvents('gemini', scene.events)
  const tool = plugin.spans().find(({ name }) => name.startsWith('tool.'))
  const ids = asked[1] as { turnId?: string; toolCallId?: string }
  expect(tool?.attributes['gen_ai.tool.call.id']).toBe(ids.toolCallId)
  expect(asked[2]).toEqual(ids)
  expect(Object.values(tool?.attributes ?? {})).toContain(ids.turnId)
})

test('recognises a call whose input a hook has rewritten', async () => {
  const guarding = new GeminiGuardProtocol()
  const body = { ...TOOL, tool_input: { command: 'rm x' } }
  const { ids } = guarding.requestIn(body) ?? {}
  const reply = await told(guarding, body, rewrite({ command: 'ls' }))
  expect(reply.body).toMatchObject({ hookSpecificOutput: { tool_input: { command: 'ls' } } })
  expect(guarding.requestIn({ ...RESULT, tool_input: { command: 'ls' } })?.ids.toolCallId).toBe(ids?.toolCallId)
  expect(guarding.requestIn({ ...RESULT, tool_input: { command: 'other' } })?.ids.toolCallId).toBeUndefined()
})

test('counts the retries of a turn, which Gemini CLI forgets with the next tool', async () => {
  const guarding = new GeminiGuardProtocol()
  const again = retry({ feedback: 'More.' })
  const attempt = (): unknown => (guarding.requestIn(END)?.event as { attempt?: number } | undefined)?.attempt
  const attempts: unknown[] = []
  guarding.requestIn(PROMPT)
  for (let turn = 0; turn < 3; turn++) {
    attempts.push(attempt())
    await told(guarding, END, again)
    guarding.requestIn({ ...PROMPT, prompt: 'More.' })
  }
  attempts.push(attempt())
  guarding.requestIn({ ...PROMPT, prompt: 'Something else' })
  attempts.push(attempt())
  expect(attempts).toEqual([0, 1, 2, 3, 0])
  expect(guarding.requestIn({ ...END, session_id: 's2' })).toMatchObject({ event: { attempt: 0 } })
})

test.each([
  ['a prompt', PROMPT, { exitCode: 2, error: 'Closed.' }],
  ['a request', REQUEST, { exitCode: 2, error: 'Closed.' }],
  ['a tool', TOOL, { exitCode: 2, error: 'Closed.' }],
  ['a result', RESULT, { exitCode: 2, error: 'Closed.' }],
  ['the end of a turn, which would go on', END, {}],
  ['an event that is no question', { ...BASE, hook_event_name: 'Notification' }, {}],
  ['a text', 'hello', {}],
])('has the right reply if closed: %s', (_, body, answer) => {
  expect(geminiGuardProtocol.failClosedReply(body, 'Closed.')).toEqual(answer)
})

test.each(['SessionStart', 'SessionEnd', 'AfterModel', 'constructor', '', undefined, 7])(
  'asks nothing for %s',
  hook_event_name => {
    const body = { ...TOOL, hook_event_name }
    expect(geminiGuardProtocol.requestIn(body)).toBeUndefined()
    expect(geminiGuardProtocol.reply(body, {} as never)).toEqual({})
  },
)

test('ends the turn at its end', () => {
  const over = ['AfterAgent', 'SessionEnd', 'BeforeTool', undefined].map(hook_event_name =>
    geminiGuardProtocol.isEndOfTurn({ ...BASE, hook_event_name }),
  )
  expect(over).toEqual([true, true, false, false])
})

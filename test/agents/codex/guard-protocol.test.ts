import { expect, test } from 'vitest'
import { codexGuardProtocol } from '../../../src/agents/codex/guard-protocol.ts'
import { ask, block, inject, pass, retry, rewrite } from '../../../src/guards/index.ts'
import type { AnyVerdict } from '../../../src/guards/verdict.ts'
import { told } from '../guarded.ts'

const BASE = { session_id: 's1', turn_id: 't1', cwd: '/app', model: 'm', permission_mode: 'default' }
const PROMPT = { ...BASE, hook_event_name: 'UserPromptSubmit', prompt: 'Clean up' }
const TOOL = {
  ...BASE,
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'rm -rf x' },
  tool_use_id: 'call_A',
}
const PATCH = { ...TOOL, tool_name: 'apply_patch', tool_input: { command: '*** Begin Patch\n*** Add File: a' } }
const MCP = { ...TOOL, tool_name: 'mcp__db__query', tool_input: { sql: 'DROP TABLE a', limit: 1 } }
const RESULT = { ...TOOL, hook_event_name: 'PostToolUse', tool_response: 'gone' }
const STOP = { ...BASE, hook_event_name: 'Stop', stop_hook_active: false, last_assistant_message: 'Done.' }
const CHILD = { ...STOP, hook_event_name: 'SubagentStop', agent_id: 'a1', stop_hook_active: true }

const before = (said: object): object => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...said } })
const deny = (reason: string): object => before({ permissionDecision: 'deny', permissionDecisionReason: reason })

/** Exactly: of one key that it does not know, Codex drops the block, too. */
test.each<[string, object, readonly AnyVerdict[], object | undefined]>([
  ['a prompt, passed', PROMPT, [pass()], undefined],
  ['a prompt, blocked', PROMPT, [block('Not now.')], { decision: 'block', reason: 'Not now.' }],
  [
    'a prompt, with lines beside it',
    PROMPT,
    [inject('Be brief.'), inject('Be kind.', 'system')],
    { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'Be brief.\n\nBe kind.' } },
  ],
  ['a prompt, which cannot be rewritten', PROMPT, [rewrite('Other')], undefined],
  ['a tool, passed', TOOL, [pass()], undefined],
  ['a tool, blocked', TOOL, [block('No rm.', { detail: 'secret' })], deny('No rm.')],
  ['a tool, blocked without a word', TOOL, [block('  ')], deny('The hook hook-1 has blocked this.')],
  [
    'a tool, to be asked about',
    TOOL,
    [ask('Really?')],
    deny('The hook hook-1 wants to ask the user, which is not possible here: Really?'),
  ],
  [
    'a command, rewritten: its text alone',
    TOOL,
    [rewrite({ command: 'ls', timeout: 5 })],
    before({ permissionDecision: 'allow', updatedInput: { command: 'ls' } }),
  ],
  [
    'a patch, rewritten: its text alone',
    PATCH,
    [rewrite({ command: '*** Begin Patch\n*** Add File: b', note: 'x' })],
    before({ permissionDecision: 'allow', updatedInput: { command: '*** Begin Patch\n*** Add File: b' } }),
  ],
  [
    'a tool of a server, rewritten: all of it',
    MCP,
    [rewrite({ sql: 'SELECT 1' })],
    before({ permissionDecision: 'allow', updatedInput: { sql: 'SELECT 1' } }),
  ],
  ['a tool, rewritten to what it was', TOOL, [rewrite({ command: 'rm -rf x' })], undefined],
  ['a tool, rewritten and then blocked', TOOL, [rewrite({ command: 'ls' }), block('No.')], deny('No.')],
  ['a tool, with a line beside it', TOOL, [inject('Careful.')], before({ additionalContext: 'Careful.' })],
  [
    'a tool, rewritten, with a line beside it',
    TOOL,
    [rewrite({ command: 'ls' }), inject('Careful.')],
    before({ permissionDecision: 'allow', updatedInput: { command: 'ls' }, additionalContext: 'Careful.' }),
  ],
  ['a result, passed', RESULT, [pass()], undefined],
  ['a result, blocked', RESULT, [block('Secrets.')], { decision: 'block', reason: 'Secrets.' }],
  [
    'a result, with a line beside it',
    RESULT,
    [inject('It was old.')],
    { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'It was old.' } },
  ],
  ['a result, rewritten', RESULT, [rewrite('else')], { decision: 'block', reason: 'else' }],
  ['a result, rewritten to no text', RESULT, [rewrite({ a: 1 })], { decision: 'block', reason: '{"a":1}' }],
  ['a result, rewritten to nothing', RESULT, [rewrite(' ')], { decision: 'block', reason: '(empty)' }],
  ['a result, rewritten and then blocked', RESULT, [rewrite('x'), block('No.')], { decision: 'block', reason: 'No.' }],
  [
    'a result, rewritten, with a line beside it',
    RESULT,
    [rewrite('else'), inject('Masked.')],
    {
      decision: 'block',
      reason: 'else',
      hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'Masked.' },
    },
  ],
  ['the end of a turn', STOP, [pass()], undefined],
  ['the end of a turn, held back', STOP, [retry({ feedback: 'Test it.' })], { decision: 'block', reason: 'Test it.' }],
  [
    'the end of a turn, held back without a word',
    STOP,
    [retry()],
    { decision: 'block', reason: 'A hook has decided so.' },
  ],
  ['the end of a turn, which cannot be blocked', STOP, [block('No.')], undefined],
  ['the end of a child, held back', CHILD, [retry({ feedback: 'More.' })], { decision: 'block', reason: 'More.' }],
])('translates an answer: %s', async (_, body, verdicts, answer) => {
  expect(await told(codexGuardProtocol, body, ...verdicts)).toEqual({ body: answer })
})

test('uses the ids of the trace, and those of the child for a child agent', () => {
  expect(codexGuardProtocol.requestIn(TOOL)).toMatchObject({
    phase: 'beforeTool',
    ids: { sessionId: 's1', turnId: 't1', toolCallId: 'call_A' },
    event: { tool: { name: 'Bash', kind: 'shell', command: 'rm -rf x', cwd: '/app', id: 'call_A' } },
  })
  expect(codexGuardProtocol.requestIn({ ...TOOL, agent_id: 'a1', turn_id: 't2' })?.ids).toEqual({
    sessionId: 'a1',
    turnId: 't2',
    toolCallId: 'call_A',
  })
})

test('names the files of a patch', () => {
  expect(codexGuardProtocol.requestIn(PATCH)).toMatchObject({ event: { tool: { kind: 'edit', paths: ['a'] } } })
})

test.each([
  ['a prompt', PROMPT, { exitCode: 2, error: 'Closed.' }],
  ['a tool', TOOL, { exitCode: 2, error: 'Closed.' }],
  ['a result', RESULT, { exitCode: 2, error: 'Closed.' }],
  ['the end of a turn, which would go on', STOP, {}],
  ['the end of a child', CHILD, {}],
  ['an event that is no question', { ...BASE, hook_event_name: 'PermissionRequest' }, {}],
  ['a text', 'hello', {}],
])('has the right reply if closed: %s', (_, body, answer) => {
  expect(codexGuardProtocol.failClosedReply(body, 'Closed.')).toEqual(answer)
})

test.each(['SessionStart', 'SessionEnd', 'PermissionRequest', 'Interrupt', 'constructor', '', undefined, 7])(
  'asks nothing for %s',
  hook_event_name => {
    const body = { ...TOOL, hook_event_name }
    expect(codexGuardProtocol.requestIn(body)).toBeUndefined()
    expect(codexGuardProtocol.reply(body, {} as never)).toEqual({})
  },
)

test('builds a request from the readable fields of an unreadable body', () => {
  const body = { hook_event_name: 'PreToolUse', tool_input: ['rm'], tool_use_id: {} }
  expect(codexGuardProtocol.requestIn(body)).toMatchObject({ ids: {}, event: { tool: { name: '', arguments: {} } } })
})

test('ends the turn at its end, and at an interrupt by the user', () => {
  const ends = ['Stop', 'SubagentStop', 'Interrupt', 'PreToolUse', 'SessionStart', undefined]
  const over = ends.map(hook_event_name => codexGuardProtocol.isEndOfTurn({ ...BASE, hook_event_name }))
  expect(over).toEqual([true, true, true, false, false, false])
})

import { expect, test } from 'vitest'
import type { ModelReply, ModelRequest } from '../../support/model-server.mjs'
import { call, runClaude } from './claude.ts'

type Answer = (request: ModelRequest) => ModelReply

/** Calls the tool, then says that it is done. */
function uses(tool: ModelReply): Answer {
  return ({ toolResults }) => (toolResults === 0 ? tool : { text: 'Done.' })
}

test('traces a tool call', async () => {
  const run = await runClaude({
    scenario: 'tool',
    description: 'a command that needs no permission',
    prompts: ['Say hi with a command'],
    answer: uses(call('Bash', { command: 'echo hi' })),
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces tools that run together', async () => {
  const run = await runClaude({
    scenario: 'parallel',
    description: 'one answer with a text and two calls',
    prompts: ['Run two commands'],
    answer: uses({
      text: 'Both at once.',
      toolCalls: [
        { name: 'Bash', arguments: { command: 'echo one' } },
        { name: 'Bash', arguments: { command: 'echo two' } },
      ],
    }),
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a request that fails once', async () => {
  const run = await runClaude({
    scenario: 'retry',
    description: 'one HTTP 500, then success',
    prompts: ['Try again'],
    answer: ({ attempt }) => (attempt === 1 ? { status: 500 } : { text: 'There it is.' }),
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 ERROR server_error (inferred) [http.response.status_code=500]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces an answer that is cut off', async () => {
  const run = await runClaude({
    scenario: 'cut-off',
    description: 'the connection breaks in the middle of the first answer; partial messages',
    prompts: ['Tell me'],
    options: { includePartialMessages: true },
    answer: ({ attempt }) => ({ text: 'Once upon a time there was a test.', truncate: attempt === 1 }),
  })
  expect(run.said).toBe('ended')
  // What of the first answer arrives, and so is counted, is up to the network.
  const spans = run.tree.split('\n').map(line => line.replace(/ [([].*/, ''))
  expect(spans.filter(line => !line.includes('aux.')).join('\n')).toMatchInlineSnapshot(`
    "agent OK
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 ERROR unknown
        api.claude-sonnet-4-5 OK"
  `)
})

test('traces a model that always fails', async () => {
  const run = await runClaude({
    scenario: 'always-500',
    description: 'nothing but HTTP 500, two retries',
    prompts: ['Try for ever'],
    env: { CLAUDE_CODE_MAX_RETRIES: '2' },
    answer: () => ({ status: 500, error: 'out of order' }),
  })
  expect(run.said).toMatch(/^failed: Claude Code returned an error result: API Error: 500 out of order/)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent ERROR server_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=api_error]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 ERROR server_error (inferred) [http.response.status_code=500]
        api.claude-sonnet-4-5 ERROR server_error (inferred) [http.response.status_code=500]
        api.claude-sonnet-4-5 ERROR server_error (inferred) [http.response.status_code=500]"
  `)
})

test('traces tools that fail: one that ran, and a missing one', async () => {
  const run = await runClaude({
    scenario: 'tool-fails',
    description: 'a command that fails, then a tool that does not exist',
    prompts: ['Fail twice'],
    answer: ({ toolResults }) => {
      if (toolResults === 0) return call('Bash', { command: 'ls nowhere' })
      return toolResults === 1 ? call('Telescope', { at: 'the stars' }) : { text: 'Neither works.' }
    },
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Telescope ERROR tool_error [hermes.tool.outcome=error]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=49, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a refused permission', async () => {
  const run = await runClaude({
    scenario: 'denied',
    description: 'canUseTool says no',
    prompts: ['Make a file'],
    permission: 'deny',
    answer: uses(call('Bash', { command: 'touch new.txt' })),
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK [hermes.approval.choice=deny]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a permission without a user', async () => {
  const run = await runClaude({
    scenario: 'nobody-to-ask',
    description: 'a command that needs permission, and no canUseTool',
    prompts: ['Make a file'],
    answer: uses(call('Bash', { command: 'touch new.txt' })),
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK [hermes.approval.choice=deny]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a permission for once', async () => {
  const run = await runClaude({
    scenario: 'allowed',
    description: 'canUseTool says yes',
    prompts: ['Make a file'],
    permission: 'allow',
    answer: uses(call('Bash', { command: 'touch new.txt' })),
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a permission for the session', async () => {
  const run = await runClaude({
    scenario: 'allowed-for-session',
    description: 'canUseTool says yes, and adds a rule for the session; the second command is not asked about',
    prompts: ['Make two files'],
    permission: 'session',
    answer: ({ toolResults }) =>
      toolResults < 2 ? call('Bash', { command: `touch new-${toolResults}.txt` }) : { text: 'Done.' },
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=session]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=49, gen_ai.response.finish_reason=end_turn]"
  `)
})

const DELEGATION = { description: 'look around', prompt: 'CHILD: look around', subagent_type: 'general-purpose' }

/** The child runs a command and takes its time to answer. */
function child({ toolResults }: ModelRequest): ModelReply {
  return toolResults === 0 ? call('Bash', { command: 'echo child' }) : { text: 'Nothing there.', delayMillis: 1500 }
}

test('traces a child agent in the background', async () => {
  const run = await runClaude({
    scenario: 'background-child',
    description: 'the Agent tool starts a child that outlives the turn; its end starts another',
    prompts: ['Have somebody look around'],
    answer: request => {
      if (request.prompt.startsWith('CHILD')) return child(request)
      // Later than the first answer to the child, so that the first result counts that one.
      return request.toolResults === 0 ? call('Agent', DELEGATION) : { text: 'Somebody is looking.', delayMillis: 500 }
    },
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=258, hermes.turn.exit_reason=completed]
                llm.claude-sonnet-4-5 OK
                  api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]
      aux.unlisted OK (inferred) [gen_ai.usage.input_tokens=0, gen_ai.usage.output_tokens=16]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces child agents that their tools wait for, two at once', async () => {
  const run = await runClaude({
    scenario: 'foreground-children',
    description: 'two Agent calls in one answer, both in the foreground',
    prompts: ['Have two look around'],
    answer: request => {
      if (request.prompt.startsWith('CHILD')) return child(request)
      if (request.toolResults > 0) return { text: 'Both are back.' }
      const one = { name: 'Agent', arguments: { ...DELEGATION, run_in_background: false } }
      return { toolCalls: [one, one] }
    },
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=258, hermes.turn.exit_reason=completed]
                llm.claude-sonnet-4-5 OK
                  api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
          tool.Agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=258, hermes.turn.exit_reason=completed]
                llm.claude-sonnet-4-5 OK
                  api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
                    tool.Bash OK [hermes.tool.outcome=completed]
                  api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]
      aux.unlisted OK (inferred) [gen_ai.usage.input_tokens=0, gen_ai.usage.output_tokens=32]"
  `)
})

test('traces a child agent whose model fails', async () => {
  const run = await runClaude({
    scenario: 'child-fails',
    description: 'all requests of a background child get HTTP 500',
    prompts: ['Have somebody look around'],
    env: { CLAUDE_CODE_MAX_RETRIES: '1' },
    answer: request => {
      if (request.prompt.startsWith('CHILD')) return { status: 500 }
      return request.toolResults === 0 ? call('Agent', DELEGATION) : { text: 'Somebody is looking.' }
    },
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Agent OK [hermes.tool.outcome=async_launched]
            subagent.general-purpose ERROR failed
              agent ERROR server_error [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=server_error]
                llm.claude-sonnet-4-5 OK
                  api.claude-sonnet-4-5 ERROR server_error (inferred)
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces two prompts in one session', async () => {
  const run = await runClaude({
    scenario: 'two-prompts',
    description: 'streaming input, two messages',
    prompts: ['one', 'two'],
    answer: ({ prompt }) => ({ text: `That was ${prompt}.` }),
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a compaction between two prompts', async () => {
  const run = await runClaude({
    scenario: 'compaction',
    description: 'streaming input: a prompt, /compact, a prompt',
    prompts: ['one', '/compact', 'two'],
    answer: () => ({ text: 'As you say.' }),
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]

    aux.compression OK [gen_ai.usage.input_tokens=240, gen_ai.usage.cache_read.input_tokens=40, gen_ai.usage.output_tokens=34]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces two queries at once', async () => {
  const run = await runClaude({
    scenario: 'two-queries',
    description: 'two queries in one process, each with a tool that needs permission',
    prompts: ['first', 'second'],
    atOnce: true,
    permission: 'allow',
    answer: ({ prompt, toolResults }) =>
      toolResults === 0 ? call('Bash', { command: `touch ${prompt}.txt` }) : { text: `${prompt} done` },
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces partial messages', async () => {
  const run = await runClaude({
    scenario: 'partial-messages',
    description: 'includePartialMessages: what each request used is known exactly; one HTTP 500 on the way',
    prompts: ['Say hi with a command'],
    options: { includePartialMessages: true },
    answer: request =>
      request.toolResults === 0
        ? { thinking: 'A command.', text: 'Well.', ...call('Bash', { command: 'echo hi' }), firstChunkDelayMillis: 100 }
        : request.attempt === 1
          ? { status: 500 }
          : { text: 'Done.' },
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 ERROR server_error (inferred) [http.response.status_code=500]
        api.claude-sonnet-4-5 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a program that reads slowly', async () => {
  const run = await runClaude({
    scenario: 'slow-reader',
    description: 'each message is read 400 ms late: hooks overtake messages',
    prompts: ['one', 'two'],
    pauseMillis: 400,
    answer: ({ prompt, toolResults }) =>
      toolResults === 0 ? call('Bash', { command: 'echo hi' }) : { text: `That was ${prompt}.` },
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=end_turn]"
  `)
})

test('traces a limit of turns', async () => {
  const run = await runClaude({
    scenario: 'max-turns',
    description: 'maxTurns: 2, and a model that never stops',
    prompts: ['Go on'],
    options: { maxTurns: 2 },
    answer: ({ toolResults }) => call('Bash', { command: `echo ${toolResults}` }),
  })
  expect(run.said).toBe('failed: Claude Code returned an error result: Reached maximum number of turns (2)')
  expect(run.tree).toMatchInlineSnapshot(`
    "agent ERROR max_turns [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=max_turns]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=33, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=completed]"
  `)
})

test('traces an interruption', async () => {
  const run = await runClaude({
    scenario: 'interrupted',
    description: 'interrupt() while the model is at work',
    prompts: ['Take your time'],
    interruptAt: 'init',
    answer: () => ({ text: 'Too late.', delayMillis: 5000 }),
  })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted_streaming]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.response.finish_reason=aborted]"
  `)
})

test('traces a program that aborts', async () => {
  const run = await runClaude({
    scenario: 'aborted',
    description: 'the signal of the query is aborted while the model is at work',
    prompts: ['Take your time'],
    abortAt: 'init',
    answer: () => ({ text: 'Too late.', delayMillis: 5000 }),
  })
  expect(run.said).toMatch(/^failed: .*abort/)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.response.finish_reason=aborted]"
  `)
})

test('traces a program that leaves', async () => {
  const run = await runClaude({
    scenario: 'left',
    description: 'the loop over the messages is left while a tool of the first answer runs',
    prompts: ['Say hi with a command'],
    pauseMillis: 700,
    leaveAt: 'assistant',
    answer: uses(call('Bash', { command: 'sleep 5' })),
  })
  expect(run).toMatchObject({ said: 'ended', stderr: '' })
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=121, hermes.turn.exit_reason=closed]
      llm.claude-sonnet-4-5 OK
        api.claude-sonnet-4-5 OK (inferred) [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=1, gen_ai.response.finish_reason=tool_use]
          tool.Bash OK [hermes.tool.outcome=cancelled]"
  `)
})

import { expect, test } from 'vitest'
import type { ModelRequest, ModelToolCall } from '../../support/model-server.mjs'
import { until } from '../../support/until.ts'
import { runQwen } from './qwen.ts'

const YOLO = ['--yolo', '-p']

function shell(command: string): ModelToolCall {
  return { name: 'run_shell_command', arguments: { command, is_background: false } }
}

function child(name: string, run_in_background: boolean): ModelToolCall {
  const about = { description: name, prompt: `CHILD ${name}`, subagent_type: 'general-purpose' }
  return { name: 'agent', arguments: { ...about, run_in_background } }
}

function isChild({ prompt }: ModelRequest): boolean {
  return prompt.startsWith('CHILD')
}

test('traces tools: one works, one fails, one has a wrong input, one does not exist', async () => {
  const run = await runQwen({
    scenario: 'tools',
    description: 'four tools: one works, one fails, one has a wrong input, one does not exist',
    runs: [[...YOLO, 'Look around']],
    answer: ({ toolResults }) => {
      const wrong = { name: 'read_file', arguments: { file_path: 'relative.txt' } }
      const calls = [shell('echo one'), shell('exit 3'), wrong, { name: 'no_such_tool', arguments: { x: 1 } }]
      return toolResults > 0 ? { text: 'Done.' } : { text: 'Four at once.', toolCalls: calls }
    },
  })
  expect(run.said).toEqual(['Done.'])
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK [hermes.tool.outcome=completed]
          tool.run_shell_command ERROR tool_error [hermes.tool.outcome=error]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
          tool.no_such_tool ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces tools at once', async () => {
  const run = await runQwen({
    scenario: 'parallel',
    description: 'three files are read at once, two of which are the same, and none is there',
    runs: [[...YOLO, 'Read them']],
    answer: ({ toolResults }) => {
      const read = (name: string): ModelToolCall => ({
        name: 'read_file',
        arguments: { file_path: `/none/${name}.txt` },
      })
      return toolResults > 0 ? { text: 'None is there.' } : { toolCalls: ['a', 'b', 'a'].map(read) }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a tool that a rule refuses', async () => {
  const run = await runQwen({
    scenario: 'refused',
    description: 'a command that is not allowed in qwen -p, and a file that is not there',
    runs: [['-p', 'Remove it']],
    answer: ({ toolResults }) => {
      const calls = [shell('rm a.txt'), { name: 'read_file', arguments: { file_path: '/none.txt' } }]
      return toolResults > 0 ? { text: 'I may not.' } : { toolCalls: calls }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK [hermes.tool.outcome=blocked]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces children that run at once', async () => {
  const run = await runQwen({
    scenario: 'children',
    description: 'two children in the foreground, each with a tool',
    runs: [[...YOLO, 'Have two look']],
    answer: request => {
      const { prompt, toolResults } = request
      if (isChild(request)) return toolResults > 0 ? { text: `Done: ${prompt}` } : { toolCalls: [shell('echo child')] }
      return toolResults > 0 ? { text: 'Both are done.' } : { toolCalls: [child('x', false), child('y', false)] }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.run_shell_command OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.agent OK [hermes.tool.outcome=completed]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.run_shell_command OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a child in the background, whose result is processed in a turn of its own', async () => {
  const run = await runQwen({
    scenario: 'background',
    description: 'a child in the background, owner result is taken up when the turn is over',
    runs: [[...YOLO, 'Have one look']],
    answer: request => {
      const { items, prompt, toolResults } = request
      if (isChild(request)) return toolResults > 0 ? { text: `Done: ${prompt}` } : { toolCalls: [shell('sleep 1')] }
      const isLaunched = items.some(({ kind }) => kind === 'result')
      return isLaunched ? { text: 'So it is.' } : { toolCalls: [child('x', true)] }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.agent OK [hermes.tool.outcome=async_launched]
            subagent.general-purpose OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
                llm.fake-1 OK
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.run_shell_command OK [hermes.tool.outcome=completed]
                  api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces two processes, one session', async () => {
  const run = await runQwen({
    scenario: 'continued',
    description: 'two processes, the second of which goes on with the session of the first',
    runs: [
      [...YOLO, 'One'],
      ['--yolo', '--continue', '-p', 'Two'],
    ],
    answer: ({ prompt }) => ({ text: `That was ${prompt}.` }),
  })
  expect(run.said).toEqual(['That was One.', 'That was Two.'])
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a request that fails at first, and one that fails for good when the session continues', async () => {
  const run = await runQwen({
    scenario: 'failures',
    description: 'a request that works at the second attempt; one that fails in another process; a third process',
    runs: [
      [...YOLO, 'One'],
      ['--yolo', '--continue', '-p', 'Two'],
      ['--yolo', '--continue', '-p', 'Three'],
    ],
    answer: ({ prompt, attempt }) => {
      if (prompt === 'Two') return { status: 400, error: 'Bad thing.' }
      return prompt === 'One' && attempt === 1 ? { status: 503, error: 'Overloaded.' } : { text: `That was ${prompt}.` }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=abandoned]
      llm.fake-1 OK
        api.fake-1 ERROR BadRequestError [http.response.status_code=400]

    agent OK [hermes.turn.number=3, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a process that is killed while a tool runs, and a session that continues', async () => {
  const run = await runQwen({
    scenario: 'killed',
    description: 'killed while a command runs, and continued by a second process',
    runs: [
      [...YOLO, 'Wait'],
      ['--yolo', '--continue', '-p', 'Go on'],
    ],
    meanwhile: async (qwen, recorder) => {
      await until(() => recorder.has('PreToolUse'))
      await qwen.stop('SIGKILL')
    },
    answer: ({ items }) => {
      const isOn = items.some(({ kind, text }) => kind === 'user' && text.includes('Go on'))
      return isOn ? { text: 'On.' } : { text: 'Waiting.', toolCalls: [shell('tail -f /dev/null')] }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=abandoned]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

import { expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { runGemini } from './gemini.ts'

const YOLO = ['--yolo', '-p']
const read = (file_path: string): { name: string; args: object } => ({ name: 'read_file', args: { file_path } })
const shell = (command: string): { name: string; args: object } => ({ name: 'run_shell_command', args: { command } })

test('traces a thought, a text and a tool', async () => {
  const run = await runGemini({
    scenario: 'tool',
    description: 'a thought, a text and a file that is read',
    runs: [[...YOLO, 'Read it']],
    answer: ({ results }) =>
      results > 0 ? { text: 'It says hello.' } : { thinking: 'Look.', text: 'I will.', calls: [read('a.txt')] },
  })
  expect(run.said[0]).toContain('It says hello.')
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.read_file OK (inferred) [hermes.tool.outcome=completed]
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces tools at once, two of them alike; then one that fails, one that does not exist and a wrong input', async () => {
  const run = await runGemini({
    scenario: 'tools',
    description:
      'four tools at once, two of them alike; then one that fails, one that does not exist and a wrong input',
    runs: [[...YOLO, 'Look around']],
    answer: ({ results }) => {
      if (results === 0) return { calls: [read('a.txt'), read('b.txt'), read('a.txt'), shell('exit 3')] }
      if (results > 4) return { text: 'Done.' }
      return {
        calls: [read('none.txt'), { name: 'no_such_tool', args: { x: 1 } }, { name: 'read_file', args: { x: 1 } }],
      }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.read_file OK (inferred) [hermes.tool.outcome=completed]
          tool.read_file OK (inferred) [hermes.tool.outcome=completed]
          tool.read_file OK (inferred) [hermes.tool.outcome=completed]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=completed]
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.no_such_tool ERROR tool_error [hermes.tool.outcome=error]
          tool.read_file ERROR tool_error [hermes.tool.outcome=error]
          tool.read_file ERROR file_not_found (inferred) [hermes.tool.outcome=error]
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a tool that a foreign hook refuses, and one that is not offered', async () => {
  const deny = `echo '{"decision":"deny","reason":"Not that."}'`
  const run = await runGemini({
    scenario: 'refused',
    description: 'a file that a hook refuses, and a command that gemini -p does not offer',
    runs: [['-p', 'Remove it']],
    deniedBy: deny,
    answer: ({ results }) => (results > 0 ? { text: 'I may not.' } : { calls: [read('a.txt'), shell('rm a.txt')] }),
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command ERROR tool_error [hermes.tool.outcome=error]
          tool.read_file ERROR tool_error (inferred) [hermes.tool.outcome=error]
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces two children and a tool at once, all of which read the same file', async () => {
  const run = await runGemini({
    scenario: 'children',
    description: 'two children and a tool at once; one file is read by all three',
    runs: [[...YOLO, 'Have two look']],
    answer: ({ isChild, prompt, results }) => {
      if (isChild && results > 0) return { calls: [{ name: 'complete_task', args: { result: `Done: ${prompt}` } }] }
      if (isChild) return { calls: [read('a.txt')] }
      if (results > 0) return { text: 'Both are done.' }
      const child = (prompt: string): { name: string; args: object } => ({
        name: 'invoke_agent',
        args: { agent_name: 'helper', prompt },
      })
      return { calls: [child('x'), child('y'), read('a.txt')] }
    },
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.invoke_agent OK (inferred) [hermes.tool.outcome=completed]
            subagent.helper OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=GOAL]
                llm.gemini-2.5-flash OK
                  api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.read_file OK (inferred) [hermes.tool.outcome=completed]
                  api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.complete_task OK (inferred) [hermes.tool.outcome=completed]
          tool.invoke_agent OK (inferred) [hermes.tool.outcome=completed]
            subagent.helper OK
              agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=GOAL]
                llm.gemini-2.5-flash OK
                  api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.read_file OK (inferred) [hermes.tool.outcome=completed]
                  api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
                    tool.complete_task OK (inferred) [hermes.tool.outcome=completed]
          tool.read_file OK (inferred) [hermes.tool.outcome=completed]
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

test('traces a request that fails for good without a report', async () => {
  const run = await runGemini({
    scenario: 'fatal',
    description: 'a request that fails in gemini -p, of which nothing is told',
    runs: [[...YOLO, 'Hello']],
    answer: () => ({ status: 400 }),
  })
  expect(run.traced).toBe(0)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent UNSET [hermes.turn.number=1, hermes.turn.final_status=finalized]
      llm UNSET (incomplete: turn_ended)
        api.error UNSET (incomplete: turn_ended)"
  `)
})

test('traces a process that is killed while a tool runs, and a session that continues', async () => {
  const run = await runGemini({
    scenario: 'killed',
    description: 'killed while a command runs, and continued by a second process',
    runs: [
      [...YOLO, 'Wait'],
      ['--yolo', '--resume', 'latest', '-p', 'Go on'],
    ],
    meanwhile: async (gemini, recorder) => {
      await until(() => recorder.has('BeforeTool'))
      await gemini.stop('SIGKILL')
    },
    answer: ({ prompt }) => (prompt === 'Go on' ? { text: 'On.' } : { text: 'Waiting.', calls: [shell('sleep 60')] }),
  })
  expect(run.traced).toBe(run.served)
  expect(run.tree).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=abandoned]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]
          tool.run_shell_command OK (inferred) [hermes.tool.outcome=cancelled]

    agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=completed]
      llm.gemini-2.5-flash OK
        api.gemini-2.5-flash OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3]"
  `)
})

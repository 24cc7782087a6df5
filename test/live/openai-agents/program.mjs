/**
 * A program of a user: agents, tools and runs of each kind, and hookspan registered as its page says. Called with what to
 * do as JSON (see `Plan` in agents.ts); prints what each run came back with, a line each.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, addTraceProcessor, OpenAIProvider, Runner, RunState, setTraceProcessors, tool } from '@openai/agents'
import { createTraceProcessor, traceRunner } from 'hookspan/openai-agents'
import { z } from 'zod'

const { url, api, streams, traced, config, prompts, choice, atOnce, guarded, saves, resumes, sessions, beside } =
  JSON.parse(process.argv[2])

/** Of somebody else, and slow: the host tells its processors one after the other. */
const slow = async () => {
  await new Promise(resolve => setTimeout(resolve, 20))
}
const other = {
  onTraceStart: slow,
  onTraceEnd: slow,
  onSpanStart: slow,
  onSpanEnd: slow,
  shutdown: slow,
  forceFlush: slow,
}

if (beside) {
  addTraceProcessor(other)
  addTraceProcessor(createTraceProcessor())
  addTraceProcessor(createTraceProcessor())
} else setTraceProcessors([createTraceProcessor()])

const modelProvider = new OpenAIProvider({ apiKey: 'dummy', baseURL: `${url}/v1`, useResponses: api === 'responses' })

function newRunner(groupId) {
  const runner = new Runner({ modelProvider, model: 'fake-1', groupId, ...config })
  return traced ? traceRunner(runner) : runner
}

const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
})
const broken = tool({
  name: 'read_file',
  description: 'Reads a file',
  parameters: z.object({ path: z.string() }),
  execute: async () => {
    throw new TypeError('no such file')
  },
})
const erase = tool({
  name: 'delete_file',
  description: 'Deletes a file',
  parameters: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => `deleted ${path}`,
})
const researcher = new Agent({ name: 'researcher', instructions: 'You are the researcher.', tools: [weather, erase] })
const billing = new Agent({ name: 'billing', instructions: 'You are billing.', tools: [weather] })
const main = new Agent({
  name: 'main',
  instructions: 'You are main.',
  tools: [weather, broken, erase, researcher.asTool({ toolName: 'research', toolDescription: 'Asks the researcher' })],
  handoffs: [billing],
  inputGuardrails: guarded
    ? [{ name: 'no_secrets', execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) }]
    : [],
})

async function once(runner, input) {
  const result = await runner.run(main, input, { stream: streams, maxTurns: 3 })
  if (streams) for await (const _ of result);
  return result
}

function decide(state, item) {
  if (choice === 'deny') state.reject(item)
  else state.approve(item, { alwaysApprove: choice === 'always' })
}

async function untilDone(runner, input) {
  let result = await once(runner, input)
  for (let rounds = 0; choice !== undefined && result.interruptions.length > 0 && rounds < 5; rounds++) {
    for (const item of result.interruptions) decide(result.state, item)
    result = await once(runner, result.state)
  }
  if (saves !== undefined) writeFileSync(saves, JSON.stringify(result.state))
  return result.interruptions.length > 0 ? 'interrupted' : result.finalOutput
}

async function told(run) {
  try {
    console.log(JSON.stringify({ output: await run }))
  } catch (error) {
    console.log(JSON.stringify({ thrown: error.message }))
  }
}

async function resume(runner) {
  const state = await RunState.fromString(main, readFileSync(resumes, 'utf8'))
  for (const item of state.getInterruptions()) decide(state, item)
  return untilDone(runner, state)
}

if (resumes !== undefined) await told(resume(newRunner('conversation-1')))
else if (atOnce) await Promise.all(prompts.map((prompt, index) => told(untilDone(newRunner(sessions[index]), prompt))))
else for (const prompt of prompts) await told(untilDone(newRunner('conversation-1'), prompt))

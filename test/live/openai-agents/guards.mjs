/** A program of a user whose runs are guarded. Behind `guard-hooks.mjs`, which has `hooksOf`. */
import { execSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Agent, OpenAIProvider, Runner, setTraceProcessors, tool } from '@openai/agents'
import { attachHooks } from 'hookspan/hooks/openai-agents'
import { createTraceProcessor, traceRunner } from 'hookspan/openai-agents'
import { z } from 'zod'

const plan = JSON.parse(process.argv[2])
const { url, api, streams, choice, ownApproval, who } = plan
for (const name of ['victim.txt', 'other.txt']) writeFileSync(name, 'precious')
setTraceProcessors([createTraceProcessor()])

const modelProvider = new OpenAIProvider({ apiKey: 'dummy', baseURL: `${url}/v1`, useResponses: api === 'responses' })
let runs = 0
const bash = tool({
  name: 'bash',
  description: 'Runs a command',
  parameters: z.object({ command: z.string() }),
  ...(ownApproval ? { needsApproval: true } : {}),
  execute: async ({ command }) => {
    runs++
    return `ran ${command}: ${execSync(command, { encoding: 'utf8' })}`
  },
})
const worker = new Agent({ name: 'worker', instructions: 'You are the worker.', tools: [bash] })
const main = {
  alone: () => new Agent({ name: 'main', instructions: 'You are main.', tools: [bash] }),
  handoff: () => new Agent({ name: 'main', instructions: 'You are main.', handoffs: [worker] }),
  tool: () =>
    new Agent({
      name: 'main',
      instructions: 'You are main.',
      tools: [hooks.guardAgent(worker).asTool({ toolName: 'work', toolDescription: 'Asks the worker' })],
    }),
}
const hooks = attachHooks(hooksOf(plan))
const runner = hooks.guardRunner(traceRunner(new Runner({ modelProvider, model: 'fake-1', groupId: 'conversation-1' })))
const agent = main[who ?? 'alone']()

let streamed = ''
async function once(input) {
  const result = await runner.run(agent, input, { stream: streams, maxTurns: 5 })
  if (streams) {
    for await (const event of result)
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
        streamed += event.data.delta
  }
  return result
}

const asked = []
try {
  let result = await once('What is up?')
  for (let rounds = 0; result.interruptions.length > 0 && rounds < 3; rounds++) {
    for (const item of result.interruptions) asked.push(JSON.parse(item.rawItem.arguments).command)
    if (choice === undefined) break
    for (const item of result.interruptions) {
      if (choice === 'once') result.state.approve(item)
      else result.state.reject(item)
    }
    result = await once(result.state)
  }
  console.log(
    JSON.stringify({
      text: result.interruptions.length > 0 ? 'interrupted' : result.finalOutput,
      runs,
      asked,
      ...(streams ? { streamed } : {}),
    }),
  )
} catch (error) {
  console.log(JSON.stringify({ thrown: error.constructor.name, message: error.message, runs, asked }))
}

/** A program of a user whose calls are guarded. Behind `guard-hooks.mjs`, which has `hooksOf`. */
import { execSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, registerTelemetry, streamText, ToolLoopAgent, tool } from 'ai'
import { createTelemetry } from 'hookspan/ai-sdk'
import { attachHooks } from 'hookspan/hooks/ai-sdk'
import { z } from 'zod'

const plan = JSON.parse(process.argv[2])
const { url, kind, choice, ownApproval } = plan
for (const name of ['victim.txt', 'other.txt']) writeFileSync(name, 'precious')
registerTelemetry(createTelemetry())

const provider = createOpenAICompatible({ name: 'fake', baseURL: `${url}/v1`, apiKey: 'dummy', includeUsage: true })
let runs = 0
const bash = tool({
  description: 'Runs a command',
  inputSchema: z.object({ command: z.string() }),
  ...(ownApproval === 'tool' ? { needsApproval: true } : {}),
  execute: async ({ command }) => {
    runs++
    return `ran ${command}: ${execSync(command, { encoding: 'utf8' })}`
  },
})
const hooks = attachHooks(hooksOf(plan))
const settings = {
  model: provider('fake-1'),
  instructions: 'You are main.',
  tools: { bash },
  ...(ownApproval === 'denied' ? { toolApproval: { bash: 'denied' } } : {}),
  stopWhen: isStepCount(5),
  maxRetries: 0,
}

const KINDS = {
  generate: async input => {
    const { text, responseMessages, content } = await generateText(hooks.guard({ ...settings, ...input }))
    return { text, messages: responseMessages, content }
  },
  stream: async input => {
    const result = streamText(hooks.guard({ ...settings, ...input, onError: () => {} }))
    let text = ''
    for await (const each of result.textStream) text += each
    return { text, messages: await result.responseMessages, content: await result.content }
  },
  agent: async input => {
    const { text, responseMessages, content } = await new ToolLoopAgent(hooks.guardAgent(settings)).generate(input)
    return { text, messages: responseMessages, content }
  },
}

const question = { role: 'user', content: 'What is up?' }
const first = await KINDS[kind]({ messages: [question] })
const asked = first.content.filter(part => part.type === 'tool-approval-request' && part.isAutomatic !== true)
let { text } = first
if (asked.length > 0 && choice !== undefined) {
  const answers = asked.map(({ approvalId }) => ({
    type: 'tool-approval-response',
    approvalId,
    approved: choice === 'once',
    reason: choice === 'once' ? undefined : 'not today',
  }))
  const messages = [question, ...first.messages, { role: 'tool', content: answers }]
  text = (await KINDS[kind]({ messages })).text
}
console.log(
  JSON.stringify({
    text,
    runs,
    asked: asked.map(({ toolCall, reason }) => ({ command: toolCall.input.command, reason })),
  }),
)

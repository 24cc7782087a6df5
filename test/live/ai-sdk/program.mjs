/**
 * A program of a user: calls of each kind, and hookspan registered as its page says. Called with what to do as JSON (see
 * `Plan` in calls.ts); prints what each call came back with, a line each.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  embed,
  embedMany,
  generateObject,
  generateText,
  isStepCount,
  Output,
  registerTelemetry,
  streamObject,
  streamText,
  ToolLoopAgent,
  tool,
} from 'ai'
import { MockEmbeddingModelV4 } from 'ai/test'
import { createTelemetry } from 'hookspan/ai-sdk'
import { z } from 'zod'

const plan = JSON.parse(process.argv[2])
const { url, kind, prompts, session, atOnce, reads, choice, structured, maxRetries, functionId, context } = plan
const { saves, resumes } = plan

const hookspan = createTelemetry()
if (plan.beside) {
  const { OpenTelemetry } = await import('@ai-sdk/otel')
  const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = await import(
    '@opentelemetry/sdk-trace-base'
  )
  const { trace } = await import('@opentelemetry/api')
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  registerTelemetry(new OpenTelemetry(), hookspan, createTelemetry(), {
    onStart: () => {
      throw new Error('of somebody else')
    },
  })
  process.on('exit', () => console.log(JSON.stringify({ theirs: exporter.getFinishedSpans().length })))
} else registerTelemetry(hookspan)

const provider = createOpenAICompatible({ name: 'fake', baseURL: `${url}/v1`, apiKey: 'dummy', includeUsage: true })
const model = provider('fake-1')
const runtimeContext = { ...(session === undefined ? {} : { sessionId: session }), ...context }
const includeRuntimeContext = Object.fromEntries(Object.keys(runtimeContext).map(key => [key, true]))

const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    await sleep(5)
    return `sunny in ${city}`
  },
})
const readFile = tool({
  description: 'Reads a file',
  inputSchema: z.object({ path: z.string() }),
  execute: async () => {
    await sleep(5)
    throw new TypeError('no such file')
  },
})
const deleteFile = tool({
  description: 'Deletes a file',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    await sleep(5)
    return `deleted ${path}`
  },
})
const researcher = new ToolLoopAgent({
  model,
  instructions: 'You are the researcher.',
  tools: { get_weather: weather },
  telemetry: { functionId: 'researcher' },
  maxRetries,
})
const research = tool({
  description: 'Asks the researcher',
  inputSchema: z.object({ question: z.string() }),
  execute: async ({ question }) => (await researcher.generate({ prompt: question })).text,
})
const embedding = new MockEmbeddingModelV4({
  provider: 'fake',
  modelId: 'embed-1',
  doEmbed: async ({ values }) => {
    await sleep(5)
    return { embeddings: values.map(() => [0.1, 0.2]), usage: { tokens: 7 }, warnings: [] }
  },
})
const lookUp = tool({
  description: 'Looks something up',
  inputSchema: z.object({ query: z.string() }),
  execute: async ({ query }) => {
    const { embedding: vector } = await embed({ model: embedding, value: query })
    return `found by ${vector.length} numbers`
  },
})
const slow = tool({
  description: 'Takes its time',
  inputSchema: z.object({}),
  execute: async (_, { abortSignal }) => {
    setTimeout(() => stopper.abort(), 5)
    await new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)))
  },
})

const stopper = new AbortController()
const settings = {
  model,
  instructions: 'You are main.',
  tools: { get_weather: weather, read_file: readFile, delete_file: deleteFile, research, look_up: lookUp, slow },
  toolApproval: { delete_file: plan.policy ?? 'user-approval' },
  stopWhen: isStepCount(5),
  maxRetries,
  runtimeContext,
  telemetry: { functionId, includeRuntimeContext, ...plan.telemetry },
  ...(structured ? { output: Output.object({ schema: z.object({ city: z.string() }) }) } : {}),
}
const {
  tools: _,
  toolApproval: __,
  stopWhen: ___,
  instructions: ____,
  runtimeContext: _____,
  ...objectSettings
} = settings

const KINDS = {
  generate: async input => {
    const result = await generateText({ ...settings, ...input, abortSignal: stopper.signal })
    return {
      result,
      output: structured ? result.output : result.text,
      messages: result.responseMessages,
      content: result.content,
    }
  },
  stream: async input => {
    const result = streamText({ ...settings, ...input, abortSignal: stopper.signal, onError: () => {} })
    if (reads === 'none') return { output: 'unread' }
    let output = ''
    for await (const text of result.textStream) {
      output += text
      if (reads === 'aborted') stopper.abort()
      if (reads === 'some') break
    }
    if (reads !== undefined) return { output }
    return { output, messages: await result.responseMessages, content: await result.content }
  },
  agent: async input => {
    const agent = new ToolLoopAgent(settings)
    const result = await agent.generate({ ...input, abortSignal: stopper.signal })
    return { output: result.text, messages: result.responseMessages, content: result.content }
  },
  object: async input => {
    const schema = z.object({ city: z.string() })
    return { output: (await generateObject({ ...objectSettings, ...input, schema })).object }
  },
  streamObject: async input => {
    const result = streamObject({
      ...objectSettings,
      ...input,
      schema: z.object({ city: z.string() }),
      onError: () => {},
    })
    for await (const _ of result.partialObjectStream);
    return { output: await result.object }
  },
  embed: async ({ prompt }) => {
    const many = await embedMany({ model: embedding, values: [prompt, 'more'] })
    return { output: many.embeddings.length }
  },
}

/** Asks the person, as an application does: with the messages so far, and the answers after them. */
async function untilDone(prompt) {
  const messages = [{ role: 'user', content: prompt }]
  const { output, messages: answers, content = [] } = await KINDS[kind](kind === 'embed' ? { prompt } : { messages })
  const asked = content.filter(part => part.type === 'tool-approval-request' && part.isAutomatic !== true)
  if (asked.length === 0) return output
  const waiting = { messages: [...messages, ...answers], asked: asked.map(({ approvalId }) => approvalId) }
  if (saves !== undefined) writeFileSync(saves, JSON.stringify(waiting))
  return choice === undefined ? 'waits' : decide(waiting)
}

async function decide({ messages, asked }) {
  const approved = choice === 'once'
  const reason = approved ? undefined : 'not today'
  const content = asked.map(approvalId => ({ type: 'tool-approval-response', approvalId, approved, reason }))
  return (await KINDS[kind]({ messages: [...messages, { role: 'tool', content }] })).output
}

async function told(run) {
  try {
    console.log(JSON.stringify({ output: await run }))
  } catch (error) {
    console.log(JSON.stringify({ thrown: error.name }))
  }
}

if (resumes !== undefined) await told(decide(JSON.parse(readFileSync(resumes, 'utf8'))))
else if (atOnce) await Promise.all(prompts.map(prompt => told(untilDone(prompt))))
else for (const prompt of prompts) await told(untilDone(prompt))

/** As much of `generateText` of `ai` 7.0.173 as hooks are in: steps, refining, approvals, tools, in the order of the real one. */

type Plain = Record<string, unknown>
type Call = (...args: unknown[]) => unknown

export interface FakeReply {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: Plain }[]
}

export interface Sent {
  readonly prompt: readonly Plain[]
}

export interface FakeModel {
  readonly model: object
  readonly sent: readonly Sent[]
}

/** A model that answers so; a reply that is an error is thrown. */
export function fakeModel(answer: (sent: Sent, ordinal: number) => FakeReply | Error): FakeModel {
  const sent: Sent[] = []
  const content = (request: Sent): Plain[] => {
    const reply = answer(request, sent.push(request))
    if (reply instanceof Error) throw reply
    const text = reply.text === undefined ? [] : [{ type: 'text', text: reply.text }]
    const calls = (reply.calls ?? []).map(({ name, input }, at) => ({
      type: 'tool-call',
      toolCallId: `c${sent.length}.${at}`,
      toolName: name,
      input: JSON.stringify(input),
    }))
    return [...text, ...calls]
  }
  const end = {
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: { inputTokens: { total: 100 }, outputTokens: { total: 10 } },
  }
  const model = {
    specificationVersion: 'v4',
    provider: 'fake',
    modelId: 'fake-1',
    supportedUrls: {},
    doGenerate: async (request: Sent): Promise<Plain> => ({ content: content(request), ...end, warnings: [] }),
    doStream: async (request: Sent): Promise<Plain> => {
      const chunks = content(request).flatMap((part, at) =>
        part['type'] === 'text'
          ? [
              { type: 'text-start', id: `${at}` },
              ...String(part['text'])
                .split(/(?<= )/)
                .map(delta => ({ type: 'text-delta', id: `${at}`, delta })),
              { type: 'text-end', id: `${at}` },
            ]
          : [part],
      )
      return { stream: ReadableStream.from([{ type: 'stream-start' }, ...chunks, { type: 'finish', ...end }]) }
    },
  }
  return { model, sent }
}

interface Options extends Plain {
  readonly model: { doGenerate: Call; doStream: Call }
  readonly tools: Record<string, Plain>
  readonly messages: readonly Plain[]
}

export interface Result {
  readonly text: string
  /** What the model got of each tool: a text, or why it was not run. */
  readonly results: readonly string[]
  readonly asked: readonly { readonly input: unknown; readonly reason: unknown }[]
  /** Chunks of the answers, where they are streamed. */
  readonly chunks: readonly Plain[]
}

let calls = 0

/** What the SDK asks for the models behind names, where the program has set no provider of its own. */
export const gateway: { models: Record<string, object> } = { models: {} }

function resolved(model: unknown): Options['model'] {
  if (typeof model !== 'string') return model as Options['model']
  const own = (globalThis as Plain)['AI_SDK_DEFAULT_PROVIDER'] as { languageModel: Call } | undefined
  return (own === undefined ? gateway.models[model] : own.languageModel(model)) as Options['model']
}

export async function generate(given: object, streams = false): Promise<Result> {
  const options = given as Options
  const callId = `call-${++calls}`
  const callModel = resolved(options.model)
  const { tools, runtimeContext = {} } = options
  await own(
    options,
    'onStart',
  )?.({
    callId,
    messages: options.messages,
    runtimeContext,
    providerOptions: options['providerOptions'],
  })
  let messages = options.messages
  let instructions = options['instructions']
  const run: { text: string; results: string[]; asked: { input: unknown; reason: unknown }[]; chunks: Plain[] } = {
    text: '',
    results: [],
    asked: [],
    chunks: [],
  }
  const execute = async (toolCallId: string, toolName: string, input: unknown): Promise<string> => {
    try {
      const run = tools[toolName]?.['execute'] as Call
      const made = run(input, { toolCallId })
      if (typeof made !== 'object' || made === null || !(Symbol.asyncIterator in made)) return String(await made)
      let last: unknown
      for await (const each of made as AsyncIterable<unknown>) last = each
      return String(last)
    } catch (error) {
      return `error: ${(error as Error).message}`
    }
  }
  const approve = (toolCallId: string, toolName: string, input: unknown): Promise<Plain> =>
    statusOf(options, { toolCall: { toolCallId, toolName, input }, tools, messages, runtimeContext })
  for (const { call, approved } of answersIn(messages)) {
    const refined = await refine(options, call['toolName'] as string, call['input'])
    const same = JSON.stringify(refined) === JSON.stringify(call['input'])
    const status = await approve(call['toolCallId'] as string, call['toolName'] as string, call['input'])
    const isDenied = !approved || status['type'] === 'denied'
    run.results.push(
      !same
        ? 'invalid'
        : isDenied
          ? 'denied'
          : await execute(call['toolCallId'] as string, call['toolName'] as string, call['input']),
    )
  }
  for (let stepNumber = 0; ; stepNumber++) {
    const step = ((await own(options, 'prepareStep')?.({ model: callModel, stepNumber, messages, instructions })) ??
      {}) as Plain
    messages = (step['messages'] ?? messages) as readonly Plain[]
    instructions = step['instructions'] ?? instructions
    const model = resolved(step['model'] ?? callModel)
    const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }]
    const request = { prompt: [...system, ...messages.map(inParts)] }
    const content = streams ? await streamed(model, request, run.chunks) : await whole(model, request)
    const answer: Plain[] = []
    const results: Plain[] = []
    for (const part of content) {
      if (part['type'] === 'text') run.text = String(part['text'])
      if (part['type'] !== 'tool-call') {
        answer.push(part)
        continue
      }
      const { toolCallId, toolName } = part as { toolCallId: string; toolName: string }
      const input = await refine(options, toolName, JSON.parse(String(part['input'])))
      answer.push({ ...part, input })
      const { type, reason } = await approve(toolCallId, toolName, input)
      if (type === 'user-approval') {
        answer.push({ type: 'tool-approval-request', approvalId: `a ${toolCallId}`, toolCallId })
        run.asked.push({ input, reason })
        continue
      }
      const result = type === 'denied' ? `denied: ${reason}` : await execute(toolCallId, toolName, input)
      run.results.push(result)
      results.push({ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: result } })
    }
    messages = [...messages, { role: 'assistant', content: answer }]
    if (results.length > 0) messages = [...messages, { role: 'tool', content: results }]
    if (results.length === 0) break
  }
  await own(options, 'onEnd')?.({ callId })
  return { ...run, ...{ messages } }
}

function own(options: Plain, name: string): Call | undefined {
  return options[name] as Call | undefined
}

async function refine(options: Plain, name: string, input: unknown): Promise<unknown> {
  const refining = (options['experimental_refineToolInput'] as Record<string, Call> | undefined)?.[name]
  return refining === undefined ? input : refining(input)
}

/** What the SDK makes of settings of its user's and of a tool. */
async function statusOf(options: Plain, question: Plain): Promise<Plain> {
  const { toolName, input } = question['toolCall'] as { toolName: string; input: unknown }
  const theirs = options['toolApproval']
  const needs = (options['tools'] as Record<string, Plain>)[toolName]?.['needsApproval']
  const said =
    typeof theirs === 'function'
      ? await theirs(question)
      : ((theirs as Plain | undefined)?.[toolName] ?? (needs === true ? 'user-approval' : undefined))
  const status = typeof said === 'function' ? await said(input, {}) : said
  return typeof status === 'string' ? { type: status } : (status ?? { type: 'not-applicable' })
}

function inParts(message: Plain): Plain {
  const { content } = message
  return typeof content === 'string' ? { ...message, content: [{ type: 'text', text: content }] } : message
}

async function whole(model: Options['model'], request: Sent): Promise<readonly Plain[]> {
  return ((await model.doGenerate(request)) as { content: Plain[] }).content
}

async function streamed(model: Options['model'], request: Sent, chunks: Plain[]): Promise<readonly Plain[]> {
  const { stream } = (await model.doStream(request)) as { stream: ReadableStream<Plain> }
  const parts: Plain[] = []
  for await (const chunk of stream as unknown as AsyncIterable<Plain>) {
    chunks.push(chunk)
    if (chunk['type'] === 'text-start') parts.push({ type: 'text', text: '' })
    if (chunk['type'] === 'text-delta') parts.push({ type: 'text', text: `${parts.pop()?.['text']}${chunk['delta']}` })
    if (chunk['type'] === 'tool-call') parts.push(chunk)
  }
  return parts
}

/** What a person has said of calls that waited. */
function answersIn(messages: readonly Plain[]): { call: Plain; approved: boolean }[] {
  const last = messages.at(-1)
  if (last?.['role'] !== 'tool') return []
  const asking = messages.findLast(({ role }) => role === 'assistant')?.['content'] as Plain[]
  return (last['content'] as Plain[]).flatMap(({ type, approvalId, approved }) => {
    const call = asking.find(each => each['type'] === 'tool-call' && `a ${each['toolCallId']}` === approvalId)
    return type === 'tool-approval-response' && call !== undefined ? [{ call, approved: approved === true }] : []
  })
}

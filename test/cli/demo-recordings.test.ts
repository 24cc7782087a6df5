/** Strangers read the recordings of the demo in a backend: what is said in them has to make sense, from start to end. */
import { statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type FedRecord, recording } from '../support/feed.ts'

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Message {
  readonly role: string
  readonly content: string | readonly { readonly text: string }[]
  readonly tool_calls?: readonly Call[]
  readonly tool_call_id?: string
}

interface Payload {
  readonly api_request_id: string
  readonly session_id: string
  readonly turn_id: string
  readonly user_message: string
  readonly assistant_response: string
  readonly request_messages: readonly Message[]
  readonly system_prompt?: string | null
  readonly conversation_history?: readonly Message[]
  readonly message_count: number
  readonly tool_count: number
  readonly tool_name: string
  readonly tool_call_id: string
  readonly args: unknown
  readonly result: string
  readonly request: { readonly body: { readonly messages?: unknown; readonly tools: readonly unknown[] } }
  readonly response: { readonly assistant_message: Message }
  readonly assistant_content_chars: number
  readonly assistant_tool_call_count: number
}

const LARGEST_BYTES = 150_000
const NAMES = ['hermes-turn.jsonl', 'demo-session.jsonl']

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('')

function payloads(records: readonly FedRecord[], hook: string): Payload[] {
  return records.filter(record => record.hook === hook).map(record => record.payload as Payload)
}

test('has small recordings, because they are part of the package', () => {
  const sizes = NAMES.map(name => statSync(new URL(`../../fixtures/${name}`, import.meta.url)).size)
  expect(sizes.reduce((all, size) => all + size, 0)).toBeLessThan(LARGEST_BYTES)
})

describe.each(NAMES)('%s', name => {
  const records = recording(name)
  const requests = payloads(records, 'pre_api_request')
  const answers = payloads(records, 'post_api_request')
  const answerTo = ({ api_request_id }: Payload): Message | undefined =>
    answers.find(answer => answer.api_request_id === api_request_id)?.response.assistant_message
  const resultOf = (id: string | undefined): string | undefined =>
    payloads(records, 'post_tool_call').find(({ tool_call_id }) => tool_call_id === id)?.result

  test('has a system prompt, tools and all messages in every request', () => {
    for (const request of requests) {
      const { request_messages: messages, system_prompt: system, api_request_id: id } = request
      const prompt = system ?? (messages[0]?.role === 'system' ? textOf(messages[0]) : '')
      expect(prompt.length, id).toBeGreaterThan(100)
      expect(messages.length + (system == null ? 0 : 1), id).toBe(request.message_count)
      expect(request.request.body.tools.length, id).toBe(request.tool_count)
      expect(request.request.body.messages ?? messages, id).toEqual(messages)
      const spoken = messages.filter(({ role }) => role !== 'system').map(textOf)
      expect(request.conversation_history?.map(textOf) ?? spoken, id).toEqual(spoken)
    }
  })

  test('continues each request from the previous one: its answer, and the results of its tools', () => {
    const last = new Map<string, Payload>()
    for (const request of requests) {
      const before = last.get(request.session_id)
      last.set(request.session_id, request)
      if (before === undefined || before.api_request_id === request.api_request_id) continue
      const answer = answerTo(before)
      const found = (answer?.tool_calls ?? []).map(({ id }) => resultOf(id))
      const said = [...before.request_messages, { ...answer, role: 'assistant' }].map(message =>
        textOf(message as Message),
      )
      const { request_messages: messages } = request
      expect(messages.slice(0, said.length + found.length).map(textOf)).toEqual([...said, ...found])
      for (const { role, tool_call_id, content } of messages) {
        if (role === 'tool') expect(content).toBe(resultOf(tool_call_id))
      }
    }
  })

  test("ends a turn with the last request's answer to its prompt", () => {
    for (const { turn_id, user_message } of payloads(records, 'pre_llm_call')) {
      const ofTurn = requests.filter(request => request.turn_id === turn_id)
      const asked = ofTurn.map(({ request_messages }) =>
        request_messages.filter(({ role }) => role === 'user').map(textOf),
      )
      for (const texts of asked) expect(texts.at(-1)).toBe(user_message)
      const [end] = payloads(records, 'post_llm_call').filter(each => each.turn_id === turn_id)
      expect(end?.assistant_response).toBe(answerTo(ofTurn.at(-1) as Payload)?.content)
    }
  })

  test("runs a tool with the model's arguments, with a result", () => {
    const calls = new Map(
      answers.flatMap(({ response }) => response.assistant_message.tool_calls ?? []).map(call => [call.id, call]),
    )
    const run = payloads(records, 'post_tool_call')
    expect(calls.size).toBe(run.length)
    for (const { tool_call_id, tool_name, args, result } of run) {
      const call = calls.get(tool_call_id)?.function
      expect(call?.name).toBe(tool_name)
      expect(JSON.parse(call?.arguments ?? '')).toEqual(args)
      expect(JSON.parse(result)).toBeTypeOf('object')
    }
  })

  test('has answers of the stated length', () => {
    for (const { response, assistant_content_chars: chars, assistant_tool_call_count: calls } of answers) {
      expect(textOf(response.assistant_message).length).toBe(chars)
      expect(response.assistant_message.tool_calls?.length).toBe(calls)
    }
  })

  test('has messages and an answer for a side call', () => {
    const ended = payloads(records, 'post_auxiliary_call')
    for (const { api_request_id, request_messages } of payloads(records, 'pre_auxiliary_call')) {
      expect(request_messages.map(({ role }) => role)).toEqual(['system', 'user'])
      const answer = ended.find(each => each.api_request_id === api_request_id)
      expect(answer?.response.assistant_message.content).toMatch(/\w/)
    }
  })

  test('omits nothing, and has nothing of a real machine', () => {
    const said = JSON.stringify(records)
    expect(said).not.toMatch(/"\.\.\."|…|\/home\/|\/Users\/|@[\w-]+\.\w/)
  })
})

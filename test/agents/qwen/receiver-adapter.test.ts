import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { QwenAdapter } from '../../../src/agents/qwen/receiver-adapter.ts'
import { afterwards } from '../../support/afterwards.ts'
import { replayEvents } from '../replay-fixture.ts'

const START = Date.UTC(2026, 10, 22, 10)
const timeAt = (at: number): string => new Date(START + at).toISOString()

interface Said {
  readonly agent?: string
  readonly calls?: readonly string[]
  readonly prompt?: string
}

/** A Qwen Code that sends hooks, and writes its transcript late. */
class Scene {
  readonly folder: string
  readonly path: string
  readonly events: HostEvent[] = []
  waited = 0
  lostHooks = 0
  /** What is written while the inlet waits for the n-th time. */
  late: Readonly<Record<number, () => void>> = {}
  readonly #inlet

  constructor() {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-qwen-')))
    afterwards(() => rmSync(home, { recursive: true, force: true }))
    this.folder = join(home, '.qwen')
    this.path = join(this.folder, 'projects', '-app', 'chats', 's1.jsonl')
    mkdirSync(dirname(this.path), { recursive: true })
    let times = 0
    const wait = async (millis: number): Promise<void> => {
      this.waited += millis
      this.late[++times]?.()
    }
    this.#inlet = new QwenAdapter({ place: { folders: [this.folder], uid: process.getuid?.() }, wait })
  }

  async hook(name: string, at: number, data: object = {}): Promise<string[]> {
    const base = { session_id: 's1', transcript_path: this.path, hook_event_name: name, timestamp: timeAt(at) }
    const told: HostEvent[] = []
    const body = { ...base, prompt_id: 'p1', ...data }
    for (const event of this.#inlet.events({ body, headers: {}, at: START + at + 5 })) {
      told.push(event, ...((await this.#inlet.enrich?.(event)) ?? []))
    }
    this.events.push(...told)
    this.lostHooks = this.#inlet.lostHooks ?? 0
    return told.slice(1).map(({ event }) => event.slice('transcript:'.length))
  }

  /** A request of the session's own, or of an agent's. */
  answers(at: number, text: string, { agent, calls = [], prompt = 'p1' }: Said = {}): void {
    const name = agent === undefined ? {} : { subagent_id: agent }
    const uiEvent = {
      'event.name': 'qwen-code.api_response',
      response_id: `r${at}`,
      model: 'qwen',
      auth_type: 'openai',
      duration_ms: 30,
      input_token_count: 100,
      output_token_count: 10,
      response_text: text,
      prompt_id: agent === undefined ? prompt : `p1#${agent}`,
      ...name,
    }
    this.#write({ timestamp: timeAt(at), type: 'system', subtype: 'ui_telemetry', systemPayload: { uiEvent } })
    const parts = [{ text }, ...calls.map(id => ({ functionCall: { id, name: 'shell', args: {} } }))]
    if (agent === undefined) this.#write({ timestamp: timeAt(at + 1), type: 'assistant', message: { parts } })
  }

  /** As the file of a child has it. */
  childAnswers(at: number, agentId: string, callId: string): void {
    const path = join(dirname(dirname(this.path)), 'subagents', 's1', `agent-${agentId}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    const parts = [{ functionCall: { id: callId, name: 'shell', args: {} } }]
    const line = { timestamp: timeAt(at), type: 'assistant', agentId, usageMetadata: {}, message: { parts } }
    appendFileSync(path, `${JSON.stringify(line)}\n`)
  }

  async tree(): Promise<string> {
    return (await replayEvents('qwen', this.events)).tree.replaceAll(/ \[.*?\]/g, '')
  }

  #write(line: object): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`)
  }
}

const shell = (id: string): object => ({
  tool_name: 'shell',
  tool_input: {},
  tool_use_id: `made-up-${id}`,
  tool_call_id: id,
})

test('waits for a late answer and emits it before its tool', async () => {
  const scene = new Scene()
  await scene.hook('UserPromptSubmit', 0, { prompt: 'go' })
  scene.late = { 3: () => scene.answers(50, 'Look.', { calls: ['c1'] }), 5: () => scene.answers(90, 'Done.') }
  expect(await scene.hook('PreToolUse', 60, shell('c1'))).toEqual(['response', 'read'])
  await scene.hook('PostToolUse', 70, shell('c1'))
  expect(await scene.hook('Stop', 100, { last_assistant_message: 'Done.' })).toEqual(['response', 'read'])
  expect(scene.waited).toBe(100)
  expect(await scene.tree()).toMatchInlineSnapshot(`
    "agent OK
      llm.qwen OK
        api.qwen OK
          tool.shell OK
        api.qwen OK"
  `)
})

test('waits for a child’s answer in both files', async () => {
  const scene = new Scene()
  await scene.hook('SubagentStart', 10, { agent_id: 'x-c1' })
  scene.childAnswers(50, 'x-c1', 'c2')
  scene.late = { 4: () => scene.answers(50, '', { agent: 'x-c1' }) }
  expect(await scene.hook('PreToolUse', 60, { ...shell('c2'), agent_id: 'x-c1' })).toEqual(['response', 'read'])
  expect(scene.waited).toBe(80)
})

test('waits three times for 3 s, then less', async () => {
  const scene = new Scene()
  for (const id of ['c1', 'c2', 'c3']) await scene.hook('PreToolUse', 60, shell(id))
  expect(scene.waited).toBe(9000)
  await scene.hook('PreToolUse', 70, shell('c4'))
  expect(scene.waited).toBe(9100)
})

test('waits for an answer equal to the previous one', async () => {
  const scene = new Scene()
  scene.answers(50, 'Done.')
  await scene.hook('Stop', 60, { last_assistant_message: 'Done.' })
  scene.late = { 2: () => scene.answers(90, 'Done.') }
  expect(await scene.hook('Stop', 100, { last_assistant_message: 'Done.' })).toEqual(['response', 'read'])
})

test('ignores internal requests of Qwen Code', async () => {
  const scene = new Scene()
  await scene.hook('UserPromptSubmit', 0, { prompt: 'go' })
  scene.answers(50, 'Memories.', { agent: 'memory-extractor-1' })
  scene.answers(60, 'Done.')
  await scene.hook('Stop', 100, { last_assistant_message: 'Done.' })
  expect(await scene.tree()).toMatchInlineSnapshot(`
    "agent OK
      llm.qwen OK
        api.qwen OK"
  `)
})

test('processes results of a background agent in a separate turn', async () => {
  const scene = new Scene()
  const stop = { last_assistant_message: 'Launched.' }
  await scene.hook('UserPromptSubmit', 0, { prompt: 'go' })
  const agent = { ...shell('c1'), tool_name: 'agent', tool_input: { prompt: 'look', subagent_type: 'x' } }
  await scene.hook('PreToolUse', 10, agent)
  await scene.hook('SubagentStart', 20, { agent_id: 'x-c1', agent_type: 'x' })
  const launched = { llmContent: 'Background agent launched successfully.' }
  await scene.hook('PostToolUse', 30, { ...agent, tool_response: launched })
  scene.answers(40, 'Launched.')
  await scene.hook('Stop', 50, stop)
  await scene.hook('UserPromptSubmit', 0, { prompt: 'go' })
  await scene.hook('Stop', 50, stop)
  scene.answers(60, 'Found it.', { agent: 'x-c1' })
  await scene.hook('SubagentStop', 70, { agent_id: 'x-c1', last_assistant_message: 'Found it.' })
  scene.answers(80, 'It was found.', { prompt: 'p1/automatic/1' })
  await scene.hook('Stop', 90, { last_assistant_message: 'It was found.' })
  expect(await scene.tree()).toMatchInlineSnapshot(`
    "agent OK
      llm.qwen OK
        tool.agent OK
          subagent.x OK
            agent OK
              llm.qwen OK
                api.qwen OK
        api.qwen OK

    agent OK
      llm.qwen OK
        api.qwen OK"
  `)
})

test('reads no other file', async () => {
  const scene = new Scene()
  scene.answers(50, 'Done.')
  const outside = join(dirname(scene.folder), 'outside.jsonl')
  writeFileSync(outside, '')
  symlinkSync(scene.path, join(dirname(scene.path), 'link.jsonl'))
  const hostile = [
    outside,
    join(dirname(scene.path), 'link.jsonl'),
    `${dirname(scene.path)}/../chats/s1.jsonl`,
    '/dev/zero',
    7,
  ]
  for (const transcript_path of hostile) {
    expect(await scene.hook('StopFailure', 60, { transcript_path }), `${transcript_path}`).toEqual(['read'])
  }
  for (const agent_id of ['../../../chats/s1', '/etc/passwd', 'a b']) {
    await scene.hook('SubagentStop', 60, { agent_id, transcript_path: join(dirname(scene.path), 'none.jsonl') })
  }
  expect(await scene.hook('StopFailure', 60)).toEqual(['response', 'read'])
})

test('counts hooks that must have been fired and were never received', async () => {
  const scene = new Scene()
  const call = (tool_call_id: string): object => ({ tool_call_id, tool_name: 'agent' })
  const batch = { tool_calls: ['c1', 'c2', 'c3'].map(id => ({ ...call(id), status: 'success' })) }
  await scene.hook('UserPromptSubmit', 0, { prompt: 'go' })
  for (const id of ['c1', 'c2']) await scene.hook('PreToolUse', 10, call(id))
  await scene.hook('SubagentStart', 20, { agent_id: 'helper-c1' })
  await scene.hook('PostToolUse', 30, call('c1'))
  expect(scene.lostHooks).toBe(0)
  await scene.hook('PreToolUse', 35, { ...call('c9'), agent_id: 'helper-c2' })
  // The start of c3 was another process's to receive.
  for (let times = 0; times < 2; times++) await scene.hook('PostToolBatch', 40, batch)
  expect(scene.lostHooks).toBe(2)
})

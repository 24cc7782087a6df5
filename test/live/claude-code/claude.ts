import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { replayEvents } from '../../agents/replay-fixture.ts'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import {
  capture,
  type HostProcess,
  hostCommand,
  hostNode,
  isRecording,
  scratchHome,
  scratchProject,
  startHost,
  tapFile,
} from '../live-host.ts'
import { Recorder } from './recorder.ts'

/** Sends what a command hook is given to where the others go by themselves. */
const FORWARD = `import { request } from 'node:http'
request('http://127.0.0.1:' + process.argv[2], { method: 'POST' }).end(await new Response(process.stdin).text())
`

const HOOKS = [
  ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse'],
  ...['PostToolUseFailure', 'PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact'],
  ...['PostCompact', 'PostModelSwitch', 'Notification', 'SessionEnd'],
]

/** Somebody who types, and answers whether a tool may run. */
const TALKING = [
  ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
  ...['--permission-prompt-tool', 'stdio'],
]

type Answer = (request: ModelRequest) => ModelReply

export interface Scene {
  /** Name and line of the fixture that a recording makes of it. */
  readonly scenario: string
  readonly description: string
  /** Arguments of Claude Code, a process each. */
  readonly runs: readonly (readonly string[])[]
  readonly env?: Readonly<Record<string, string>>
  /** Further hooks, of somebody else. */
  readonly hooks?: Readonly<Record<string, readonly object[]>>
  /** Hooks of ours that time out, and what they report is lost. */
  readonly loses?: readonly string[]
  /** What is done with a process that is at work. */
  readonly meanwhile?: (claude: HostProcess) => Promise<unknown>
  answer: Answer
}

export interface Run {
  /** Traces by their starts, a blank line between two. */
  readonly tree: string
  /** What each process printed. */
  readonly said: readonly string[]
  readonly events: readonly HostEvent[]
  /** Hooks that the transcripts name and the recorder never received. */
  readonly lostHooks: number
  /** Tokens of the answers that the model has given. */
  readonly served: number
  /** Those of all spans. */
  readonly traced: number
}

/** Tokens of an answer of the model server. */
const OF_AN_ANSWER = 137

export async function runClaude({ answer, ...scene }: Scene): Promise<Run> {
  let served = 0
  const model = await startModelServer(request => {
    const reply = answer(request)
    if (reply.status === undefined) served += OF_AN_ANSWER
    return reply
  })
  const home = scratchHome()
  const recorder = await Recorder.start(join(home, '.claude'), scene.loses)
  try {
    const said = await runAll(scene, { home, port: recorder.port, model: model.url })
    const events = await recorder.stop()
    keep(home, scene, events)
    const { tree, plugin } = await replayEvents('claude-code', events)
    const numbers = plugin.spans().map(({ attributes }) => ({
      input: Number(attributes['gen_ai.usage.input_tokens'] ?? 0),
      output: Number(attributes['gen_ai.usage.output_tokens'] ?? 0),
    }))
    const { lostHooks } = recorder
    return {
      tree,
      said,
      events,
      lostHooks,
      served,
      traced: numbers.reduce((sum, { input, output }) => sum + input + output, 0),
    }
  } finally {
    await recorder.stop()
    await model.close()
  }
}

interface Around {
  readonly home: string
  readonly port: number
  readonly model: string
}

async function runAll(
  { runs, env, hooks = {}, meanwhile, loses }: Omit<Scene, 'answer'>,
  around: Around,
): Promise<string[]> {
  const { home, port, model } = around
  const project = scratchProject(home, { files: { 'forward.mjs': FORWARD } })
  write(join(home, '.claude', 'settings.json'), {
    hooks: settingsOf({ port, forward: join(project, 'forward.mjs'), timeout: loses ? 0.5 : 5 }, hooks),
  })
  const said: string[] = []
  for (const args of runs) {
    const [command = '', ...first] = hostCommand()
    const claude = startHost(command, [...first, ...args], {
      home,
      cwd: project,
      env: {
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ...env,
      },
    })
    if (meanwhile !== undefined && args === runs[0]) await meanwhile(claude)
    else claude.end()
    const { stdout } = await claude.end().catch(error => ({ stdout: `${error}` }))
    said.push(stdout.trim())
  }
  return said
}

interface Receiving {
  readonly port: number
  readonly forward: string
  /** Seconds. */
  readonly timeout: number
}

function settingsOf({ port, forward, timeout }: Receiving, more: NonNullable<Scene['hooks']>): object {
  const command = { type: 'command', command: hostNode(), args: [forward, `${port}`] }
  const http = { type: 'http', url: `http://127.0.0.1:${port}/claude-code`, timeout }
  const own = HOOKS.map(name => [name, [{ hooks: [name === 'SessionStart' ? command : http] }, ...(more[name] ?? [])]])
  return Object.fromEntries(own)
}

function write(path: string, value: object): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(value, null, 2))
}

function keep(home: string, { scenario, description }: Omit<Scene, 'answer'>, events: readonly HostEvent[]): void {
  if (!isRecording()) return
  writeFileSync(tapFile(home), `${events.map(event => JSON.stringify(event)).join('\n')}\n`)
  capture(home, 'claude-code', scenario, description)
}

export function call(name: string, args: Readonly<Record<string, unknown>>): ModelReply {
  return { toolCalls: [{ name, arguments: args }] }
}

/** One who types a prompt when the answer to the one before is there, and is asked about tools. */
export interface Person {
  readonly prompts: readonly string[]
  /** Whether a command may run. */
  permits?(command: string): boolean
  /** Stops the first turn when the model was asked so many times. */
  readonly interrupts?: Promise<unknown>
}

export const TYPED: readonly string[] = TALKING

export async function talk(claude: HostProcess, { prompts, permits = () => true, interrupts }: Person): Promise<void> {
  const say = (message: object): void => claude.write(`${JSON.stringify(message)}\n`)
  say({ type: 'control_request', request_id: 'first', request: { subtype: 'initialize' } })
  let asked = 0
  const answerAll = (): void => {
    for (const request of questions(claude.stdout).slice(asked)) {
      asked += 1
      const isGranted = permits(request.input.command)
      const response = isGranted
        ? { behavior: 'allow', updatedInput: request.input }
        : { behavior: 'deny', message: 'Not that.' }
      say({ type: 'control_response', response: { subtype: 'success', request_id: request.id, response } })
    }
  }
  const asking = setInterval(answerAll, 20)
  try {
    for (const [index, prompt] of prompts.entries()) {
      say({ type: 'user', message: { role: 'user', content: prompt } })
      if (index === 0 && interrupts !== undefined) {
        await interrupts
        say({ type: 'control_request', request_id: 'stop', request: { subtype: 'interrupt' } })
      }
      await claude.sees('"type":"result"', index + 1)
    }
  } finally {
    clearInterval(asking)
  }
}

interface Question {
  readonly id: string
  readonly input: { readonly command: string }
}

function questions(said: string): Question[] {
  const whole = said.split('\n').slice(0, -1)
  return whole
    .filter(line => line.startsWith('{"type":"control_request"'))
    .map(line => JSON.parse(line))
    .filter(({ request }) => request.subtype === 'can_use_tool')
    .map(({ request_id, request }) => ({ id: request_id, input: request.input }))
}

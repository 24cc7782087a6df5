import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { QwenAdapter } from '../../../src/agents/qwen/receiver-adapter.ts'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import { drawn, HookRecorder, keep, writeJson } from '../hook-recorder.ts'
import { type HostProcess, hostCommand, scratchHome, scratchProject, startHost } from '../live-host.ts'

const HOOKS = [
  ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse'],
  ...['PostToolUseFailure', 'PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact'],
  ...['PostCompact', 'SessionEnd'],
]

/** Tokens of an answer of the model server. */
const OF_AN_ANSWER = 137

export interface Scene {
  /** Name and line of the fixture that a recording makes of it. */
  readonly scenario: string
  readonly description: string
  /** Arguments of Qwen Code, a process each. */
  readonly runs: readonly (readonly string[])[]
  /** What is done with the first process. */
  readonly meanwhile?: (qwen: HostProcess, recorder: HookRecorder) => Promise<unknown>
  answer(request: ModelRequest): ModelReply
}

export interface Run {
  readonly tree: string
  /** What each process printed. */
  readonly said: readonly string[]
  /** Tokens of the answers of the model, and those of all spans. */
  readonly served: number
  readonly traced: number
}

export async function runQwen(scene: Scene): Promise<Run> {
  let served = 0
  const model = await startModelServer(request => {
    const reply = scene.answer(request)
    if (reply.status === undefined) served += OF_AN_ANSWER
    return reply
  })
  const home = scratchHome()
  const place = { folders: [join(home, '.qwen')], uid: process.getuid?.() }
  const recorder = await HookRecorder.start(new QwenAdapter({ place, wait: sleep }))
  try {
    const said = await runAll(scene, { home, model: model.url, recorder })
    const events = await recorder.stop()
    keep({ home, host: 'qwen', ...scene }, events)
    return { ...(await drawn('qwen', events)), said, served }
  } finally {
    await recorder.stop()
    await model.close()
  }
}

interface Around {
  readonly home: string
  readonly model: string
  readonly recorder: HookRecorder
}

async function runAll({ runs, meanwhile }: Scene, { home, model, recorder }: Around): Promise<string[]> {
  const project = scratchProject(home, { files: { 'a.txt': 'hello' } })
  const http = { type: 'http', url: `http://127.0.0.1:${recorder.port}`, timeout: 5 }
  const hooks = Object.fromEntries(HOOKS.map(name => [name, [{ hooks: [http] }]]))
  writeJson(join(home, '.qwen', 'settings.json'), { ...SETTINGS, hooks })
  const said: string[] = []
  for (const args of runs) {
    const qwen = startQwen(args, { home, cwd: project, model })
    if (meanwhile !== undefined && args === runs[0]) await meanwhile(qwen, recorder)
    const { stdout } = await qwen.end().catch(error => ({ stdout: `${error}` }))
    said.push(stdout.trim())
  }
  return said
}

export const SETTINGS: object = {
  security: { auth: { selectedType: 'openai' } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  // What it would ask for itself behind a turn.
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
}

interface Where {
  readonly home: string
  readonly cwd: string
  readonly model: string
}

export function startQwen(args: readonly string[], { home, cwd, model }: Where): HostProcess {
  const [command = '', ...first] = hostCommand()
  const env = { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'dummy', OPENAI_MODEL: 'fake-1', NO_COLOR: '1' }
  return startHost(command, [...first, ...args], { home, cwd, env })
}

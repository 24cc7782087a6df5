import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GeminiAdapter } from '../../../src/agents/gemini/receiver-adapter.ts'
import { drawn, HookRecorder, keep, writeJson } from '../hook-recorder.ts'
import { type HostProcess, hostCommand, hostNode, scratchHome, scratchProject, startHost } from '../live-host.ts'
import { GeminiModel, type GeminiReply, type GeminiRequest } from './gemini-model.ts'

/** Sends what a hook is given to the recorder. */
const FORWARD = `import { request } from 'node:http'
request('http://127.0.0.1:' + process.argv[2], { method: 'POST' }).end(await new Response(process.stdin).text())
`
const HOOKS = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'Notification', 'AfterAgent', 'SessionEnd']

const CHILD = `---
name: helper
description: Helps.
tools:
  - read_file
---
CHILD, help.
`

export interface Scene {
  /** Name and line of the fixture that a recording makes of it. */
  readonly scenario: string
  readonly description: string
  /** Arguments of Gemini CLI, a process each. */
  readonly runs: readonly (readonly string[])[]
  /** A command of somebody else's, before each tool. */
  readonly deniedBy?: string
  /** What is done with the first process. */
  readonly meanwhile?: (gemini: HostProcess, recorder: HookRecorder) => Promise<unknown>
  answer(request: GeminiRequest): GeminiReply
}

export interface Run {
  readonly tree: string
  /** What each process printed. */
  readonly said: readonly string[]
  /** Tokens of the answers that the agents have got, and those of all spans. */
  readonly served: number
  readonly traced: number
}

export async function runGemini(scene: Scene): Promise<Run> {
  const model = new GeminiModel(request => scene.answer(request))
  const home = scratchHome()
  const url = await model.start()
  const recorder = await HookRecorder.start(
    new GeminiAdapter({
      place: { folders: [join(home, '.gemini')], uid: process.getuid?.() },
      wait: async () => undefined,
    }),
  )
  try {
    const said = await runAll(scene, { home, url, recorder })
    const events = await recorder.stop()
    keep({ home, host: 'gemini', ...scene }, events)
    return { ...(await drawn('gemini', events)), said, served: model.served }
  } finally {
    await recorder.stop()
    await model.stop()
  }
}

interface Around {
  readonly home: string
  readonly url: string
  readonly recorder: HookRecorder
}

async function runAll({ runs, deniedBy, meanwhile }: Scene, { home, url, recorder }: Around): Promise<string[]> {
  const project = scratchProject(home, { files: { 'forward.mjs': FORWARD, 'a.txt': 'hello', 'b.txt': 'second' } })
  const command = `'${hostNode()}' '${join(project, 'forward.mjs')}' ${recorder.port}`
  const groupOf = (one: string): object => ({ hooks: [{ type: 'command', command: one, timeout: 5000 }] })
  const hooks = Object.fromEntries(HOOKS.map(name => [name, [groupOf(command)]]))
  if (deniedBy !== undefined) hooks['BeforeTool']?.push(groupOf(deniedBy))
  writeJson(join(home, '.gemini', 'settings.json'), { ...SETTINGS, hooks })
  mkdirSync(join(home, '.gemini', 'agents'), { recursive: true })
  writeFileSync(join(home, '.gemini', 'agents', 'helper.md'), CHILD)
  const said: string[] = []
  for (const args of runs) {
    const gemini = startGemini(args, { home, cwd: project, url })
    if (meanwhile !== undefined && args === runs[0]) await meanwhile(gemini, recorder)
    const { stdout } = await gemini.end().catch(error => ({ stdout: `${error}` }))
    said.push(stdout.trim())
  }
  return said
}

export const SETTINGS: object = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false, maxAttempts: 2 },
  privacy: { usageStatisticsEnabled: false },
  model: { name: 'gemini-2.5-flash' },
}

interface Where {
  readonly home: string
  readonly cwd: string
  readonly url: string
}

export function startGemini(args: readonly string[], { home, cwd, url }: Where): HostProcess {
  const [command = '', ...first] = hostCommand()
  const env = {
    GEMINI_API_KEY: 'dummy',
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    NO_COLOR: '1',
  }
  return startHost(command, [...first, ...args], { home, cwd, env })
}

import { readFileSync } from 'node:fs'
import { type ModelReply, type ModelRequest, startModelServer } from '../../support/model-server.mjs'
import { capture, hostNode, runHost, scratchHome, scratchProject, tracesOf } from '../live-host.ts'

const PROGRAM = readFileSync(new URL('program.mjs', import.meta.url), 'utf8')

/** What `program.mjs` is to do. */
export interface Scene {
  /** Name and line of the fixture that a recording makes of it. */
  readonly scenario: string
  readonly description: string
  readonly prompts: readonly string[]
  readonly permission?: 'allow' | 'session' | 'deny'
  readonly options?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
  /** A query for each prompt, all at once; else one that is typed to. */
  readonly atOnce?: boolean
  /** Type of the message at which the program leaves the loop. */
  readonly leaveAt?: string
  /** Subtype of the message shortly after which it interrupts, or aborts. */
  readonly interruptAt?: string
  readonly abortAt?: string
  /** How long the program thinks about each message. */
  readonly pauseMillis?: number
  answer(request: ModelRequest): ModelReply
}

export interface Run {
  /** Traces by their starts, a blank line between two. */
  readonly tree: string
  /** What the program printed. */
  readonly said: string
  readonly stderr: string
}

/**
 * A child is told by a hook and by a message. Which of them comes first is chance, and the hook alone does not name the tool
 * call, so it may be marked as worked out. The captures pin both orders.
 */
const GUESSED_CHILD = /^( *subagent\..*) \(inferred\)/gm

export async function runClaude(scene: Scene): Promise<Run> {
  const { scenario, description, env = {}, answer, ...plan } = scene
  const server = await startModelServer(answer)
  try {
    const home = scratchHome()
    const project = scratchProject(home, { files: { 'agent.mjs': PROGRAM }, withHost: true })
    const ended = await runHost(hostNode(), ['agent.mjs', JSON.stringify(plan)], {
      home,
      cwd: project,
      env: {
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CONFIG_DIR: home,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        ...env,
      },
    })
    capture(home, 'claude-agent-sdk', scenario, description)
    const { trees } = await tracesOf(home)
    return {
      tree: trees.join('\n\n').replace(GUESSED_CHILD, '$1'),
      said: ended.stdout.trim(),
      stderr: ended.stderr.slice(0, 500),
    }
  } finally {
    await server.close()
  }
}

export function call(name: string, args: Readonly<Record<string, unknown>>): ModelReply {
  return { toolCalls: [{ name, arguments: args }] }
}

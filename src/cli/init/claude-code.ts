import { join } from 'node:path'
import { type AgentHookSettings, allows, type Guards, hookAgent, type ReceiverAccess } from './hook-agent.ts'
import { UNLESS_UP } from './hook-command.ts'
import { valueAt } from './json-config.ts'
import type { HostSetup } from './plan.ts'

const BY_HTTP = [
  ...['UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse', 'PostToolUseFailure'],
  ...['PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact'],
  'PostModelSwitch',
]

/**
 * Events sent by a program, which starts a receiver if none listens.
 *
 * - SessionStart: Claude Code has no other way. The program waits for the receiver, so that the hooks that follow find it.
 * - SessionEnd: Claude Code prints an error if nothing listens. The program leaves the event in the spool instead.
 * - UserPromptSubmit: sent by HTTP as well. The program covers a receiver that has ended while the user was away.
 * - PostToolBatch, Stop: sent by HTTP as well. A shell looks for the receiver's process, and runs the program only if it is
 * gone.
 */
const BY_PROGRAM: Readonly<Record<string, 'awaited' | 'async' | 'unless up'>> = {
  SessionStart: 'awaited',
  UserPromptSubmit: 'async',
  PostToolBatch: 'unless up',
  Stop: 'unless up',
  SessionEnd: 'awaited',
}

const ASKED: ReadonlySet<string> = new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop'])
const CLOSED: ReadonlySet<string> = new Set(['UserPromptSubmit', 'PreToolUse'])

/**
 * In seconds. The receiver answers before it does any work, so only a hung one takes so long. A shorter limit loses hooks on a
 * busy machine.
 */
const TIMEOUT = 1
/** Guards time out after one second. */
const ASKED_TIMEOUT = 2
const PROGRAM_TIMEOUT = 5

const OUR_URL = /^http:\/\/127\.0\.0\.1:\d+\/(?:t\/[0-9a-f]{64}\/)?claude-code$/
const OUR_PROGRAM = /[/\\]dist[/\\]hook\.cjs$/

/** Hooks in the settings of Claude Code (read from 2.1.330). */
const claudeSettings: AgentHookSettings = { title: 'Claude Code', hooksOf, isOurs, guardsOf, check }

function check(root: unknown, receiver: ReceiverAccess): void {
  if (valueAt(root, ['disableAllHooks']) === true) {
    throw new Error('disableAllHooks is true there: Claude Code runs no hook at all; take it out first')
  }
  if (!allows(valueAt(root, ['allowedHttpHookUrls']), urlOf(receiver))) {
    throw new Error(`allowedHttpHookUrls there does not allow ${urlOf(receiver)}; add it to that list first`)
  }
}

function urlOf({ port }: ReceiverAccess): string {
  return `http://127.0.0.1:${port}/claude-code`
}

function hooksOf(receiver: ReceiverAccess): ReadonlyMap<string, readonly object[]> {
  const http = {
    type: 'http',
    url: urlOf(receiver),
    headers: { 'x-hookspan-token': receiver.token },
    timeout: TIMEOUT,
  }
  const hooks = new Map<string, object[]>(
    Object.entries(BY_PROGRAM).map(([event, how]) => [event, programs(event, how, receiver)]),
  )
  const { guards } = receiver
  const asking = { ...http, headers: { ...http.headers, 'x-hookspan-decide': guards }, timeout: ASKED_TIMEOUT }
  for (const event of BY_HTTP) {
    const isAsked = guards !== undefined && ASKED.has(event)
    const closes = guards === 'closed' && CLOSED.has(event)
    const hook = isAsked ? { ...asking, ...(closes && { onFailure: 'block' }) } : http
    hooks.set(event, [hook, ...(hooks.get(event) ?? [])])
  }
  return hooks
}

function guardsOf(hook: object): Guards {
  const said = valueAt(hook, ['headers', 'x-hookspan-decide'])
  return said === 'open' || said === 'closed' ? said : undefined
}

function programs(event: string, how: 'awaited' | 'async' | 'unless up', receiver: ReceiverAccess): object[] {
  const options = event === 'SessionStart' ? ['--up'] : []
  const args = [join(receiver.folder, 'dist', 'hook.cjs'), 'claude-code', ...options]
  const program = { type: 'command', command: process.execPath, args, timeout: PROGRAM_TIMEOUT }
  if (how === 'awaited') return [program]
  if (how === 'async') return [{ ...program, async: true }]
  // Windows may have no such shell.
  if (process.platform === 'win32') return []
  const shell = ['-c', UNLESS_UP, 'sh', receiver.pidFile, process.execPath, ...args]
  return [{ ...program, command: 'sh', args: shell, async: true }]
}

function isOurs(hook: object): boolean {
  const { url, args } = hook as { url?: unknown; args?: unknown }
  if (typeof url === 'string') return OUR_URL.test(url)
  if (!Array.isArray(args)) return false
  const agent = args.indexOf('claude-code')
  return agent > 0 && typeof args[agent - 1] === 'string' && OUR_PROGRAM.test(args[agent - 1])
}

export const claudeCode: HostSetup = hookAgent({
  settings: claudeSettings,
  folder: '.claude',
  variable: 'CLAUDE_CONFIG_DIR',
  isByHttp: true,
})

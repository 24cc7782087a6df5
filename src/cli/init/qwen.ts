import { type AgentHookSettings, allows, type Guards, hookAgent, type ReceiverAccess } from './hook-agent.ts'
import {
  commandFor,
  type GuardedEvents,
  guardOptions,
  guardsOfCommand,
  isCommandFor,
  unlessUp,
} from './hook-command.ts'
import { valueAt } from './json-config.ts'
import type { HostSetup } from './plan.ts'

const BY_HTTP = [
  ...['UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse', 'PostToolUseFailure'],
  ...['PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact'],
]
/**
 * Events sent by a program, which starts a receiver if none listens. SessionStart waits for it. For events also sent by HTTP, a
 * shell looks for the receiver's process and runs the program only if it is gone. Qwen Code waits for that: `qwen -p` ends
 * without SessionEnd, and might end before a background program has run.
 */
const BY_PROGRAM: Readonly<Record<string, 'always' | 'unless up'>> = {
  SessionStart: 'always',
  UserPromptSubmit: 'unless up',
  PostToolBatch: 'unless up',
  Stop: 'unless up',
  SessionEnd: 'always',
}
const GUARDED: GuardedEvents = {
  asked: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop']),
  // If nothing answers, only the exit code of a program can block these.
  closed: new Set(['UserPromptSubmit', 'PreToolUse']),
  first: 'SessionStart',
}
/**
 * In seconds. The receiver answers before it does any work, so only a hung one takes so long. A shorter limit loses hooks on a
 * busy machine.
 */
const TIMEOUT = 1
/** Guards time out after one second. */
const ASKED_TIMEOUT = 2
const PROGRAM_TIMEOUT = 5
const NAME = 'hookspan'
/** Qwen Code drops all but the first hook of the same name at one event. */
const PROGRAM_NAME = 'hookspan-program'
const OUR_URL = /^http:\/\/127\.0\.0\.1:\d+\/(?:t\/[0-9a-f]{64}\/)?qwen$/

/** Qwen Code (read from 0.24.4). */
export const qwen: HostSetup = hookAgent({
  settings: { title: 'Qwen Code', hooksOf, isOurs, guardsOf, check } satisfies AgentHookSettings,
  folder: '.qwen',
  variable: 'QWEN_HOME',
  isByHttp: true,
})

function check(root: unknown, receiver: ReceiverAccess): void {
  if (valueAt(root, ['disableAllHooks']) === true) {
    throw new Error('disableAllHooks is true there: Qwen Code runs no hook at all; take it out first')
  }
  const allowed = valueAt(root, ['security', 'allowedHttpHookUrls'])
  // An empty list allows everything.
  if (Array.isArray(allowed) && allowed.length > 0 && !allows(allowed, urlOf(receiver))) {
    throw new Error(`security.allowedHttpHookUrls there does not allow ${urlOf(receiver)}; add it to that list first`)
  }
}

function urlOf({ port }: ReceiverAccess): string {
  return `http://127.0.0.1:${port}/qwen`
}

function hooksOf(receiver: ReceiverAccess): ReadonlyMap<string, readonly object[]> {
  const { guards } = receiver
  const program = (options: readonly string[] = []): object => programFor(commandFor('qwen', receiver, options))
  const hooks = new Map<string, object[]>()
  for (const [event, how] of Object.entries(BY_PROGRAM)) {
    if (how === 'always') hooks.set(event, [program(guardOptions(event, guards, GUARDED))])
    // Windows may have no such shell.
    else if (process.platform !== 'win32') hooks.set(event, [programFor(unlessUp('qwen', receiver))])
  }
  for (const event of BY_HTTP) {
    const closes = guards === 'closed' && GUARDED.closed.has(event)
    const hook = closes
      ? program(guardOptions(event, guards, GUARDED))
      : requestFor(receiver, GUARDED.asked.has(event) ? guards : undefined)
    hooks.set(event, closes ? [hook] : [hook, ...(hooks.get(event) ?? [])])
  }
  return hooks
}

function programFor(command: string): object {
  return { type: 'command', name: PROGRAM_NAME, command, timeout: PROGRAM_TIMEOUT }
}

function requestFor(receiver: ReceiverAccess, guards: Guards): object {
  const asks = guards === undefined ? {} : { 'x-hookspan-decide': guards }
  const headers = { 'x-hookspan-token': receiver.token, ...asks }
  const timeout = guards === undefined ? TIMEOUT : ASKED_TIMEOUT
  return { type: 'http', name: NAME, url: urlOf(receiver), headers, timeout }
}

function guardsOf(hook: object): Guards {
  const { command } = hook as { command?: unknown }
  if (command !== undefined) return guardsOfCommand(command)
  const said = valueAt(hook, ['headers', 'x-hookspan-decide'])
  return said === 'open' || said === 'closed' ? said : undefined
}

function isOurs(hook: object): boolean {
  const { url, command } = hook as { url?: unknown; command?: unknown }
  return typeof url === 'string' ? OUR_URL.test(url) : isCommandFor('qwen', command)
}

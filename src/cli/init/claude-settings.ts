import { join } from 'node:path'
import { allows, type Guards, type HookSettings, type Receiver } from './hook-settings.ts'
import { valueAt } from './json-change.ts'

/** Claude Code sends these by itself. */
const BY_HTTP = [
  ...['UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse', 'PostToolUseFailure'],
  ...['PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact'],
  ...['PostModelSwitch', 'SessionEnd'],
]

/**
 * By a program, which also has the receiver start where none listens: the start of a session is sent in no other way, and a
 * prompt must not be lost because the receiver has ended while its user was away. Nobody waits for the second.
 */
const BY_PROGRAM: readonly (readonly [event: string, isAwaited: boolean])[] = [
  ['SessionStart', true],
  ['UserPromptSubmit', false],
]

/** What hooks may decide about. */
const ASKED: ReadonlySet<string> = new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop'])
/** What can still be kept from happening. */
const CLOSED: ReadonlySet<string> = new Set(['UserPromptSubmit', 'PreToolUse'])

/** Seconds: a receiver that hangs costs an agent no more. */
const TIMEOUT = 0.1
/** Hooks that act are given up after one. */
const ASKED_TIMEOUT = 2
const PROGRAM_TIMEOUT = 5

const OUR_URL = /^http:\/\/127\.0\.0\.1:\d+\/(?:t\/[0-9a-f]{64}\/)?claude-code$/
const OUR_PROGRAM = /[/\\]dist[/\\]hook\.cjs$/

/** Hooks in the settings of Claude Code (read from 2.1.330). */
export const claudeSettings: HookSettings = { title: 'Claude Code', hooksOf, isOurs, guardsOf, check }

function check(root: unknown, receiver: Receiver): void {
  if (valueAt(root, ['disableAllHooks']) === true) {
    throw new Error('disableAllHooks is true there: Claude Code runs no hook at all; take it out first')
  }
  if (!allows(valueAt(root, ['allowedHttpHookUrls']), urlOf(receiver))) {
    throw new Error(`allowedHttpHookUrls there does not allow ${urlOf(receiver)}; add it to that list first`)
  }
}

function urlOf({ port }: Receiver): string {
  return `http://127.0.0.1:${port}/claude-code`
}

function hooksOf(receiver: Receiver): ReadonlyMap<string, readonly object[]> {
  const http = {
    type: 'http',
    url: urlOf(receiver),
    headers: { 'x-hookspan-token': receiver.token },
    timeout: TIMEOUT,
  }
  const hooks = new Map<string, object[]>(
    BY_PROGRAM.map(([event, isAwaited]) => [event, [program(receiver, isAwaited)]]),
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

function program({ folder, guards }: Receiver, isAwaited: boolean): object {
  // A prompt that comes before the receiver is up would not be judged, or not be taken.
  const waits = isAwaited && guards !== undefined ? ['--up'] : []
  return {
    type: 'command',
    command: process.execPath,
    args: [join(folder, 'dist', 'hook.cjs'), 'claude-code', ...waits],
    timeout: PROGRAM_TIMEOUT,
    ...(isAwaited ? {} : { async: true }),
  }
}

function isOurs(hook: object): boolean {
  const { url, args } = hook as { url?: unknown; args?: unknown }
  if (typeof url === 'string') return OUR_URL.test(url)
  if (!Array.isArray(args)) return false
  return args[1] === 'claude-code' && typeof args[0] === 'string' && OUR_PROGRAM.test(args[0])
}

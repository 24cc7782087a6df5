import { join } from 'node:path'
import type { GuardedEvents, Guards, HooksHost, ReceiverAccess } from './hooks-host.ts'
import {
  commandFor,
  guardOptions,
  guardsOfCommand,
  hooksHost,
  isCommandFor,
  powerShellCall,
  UNLESS_UP,
  unlessUp,
} from './hooks-host.ts'
import { type JsonPath, valueAt } from './json-config.ts'
import type { HostSetup } from './plan.ts'

/** Agents that post their hooks to the receiver: Claude Code, and Qwen Code with the same events. */

const BY_HTTP = [
  ...['UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse', 'PostToolUseFailure'],
  ...['PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact'],
]
const GUARDED: GuardedEvents = {
  asked: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop']),
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
const OUR_URL = /^http:\/\/127\.0\.0\.1:\d+\/(?:t\/[0-9a-f]{64}\/)?([\w-]+)$/

interface HttpHost extends Pick<HooksHost, 'name' | 'title' | 'folder' | 'variable' | 'entriesOf'> {
  readonly allowed: JsonPath
  readonly isEmptyListOpen: boolean
  isOurProgram(hook: object): boolean
}

function httpHost({ allowed, isEmptyListOpen, isOurProgram, ...host }: HttpHost): HostSetup {
  const { name, title } = host
  return hooksHost({
    ...host,
    file: 'settings.json',
    isByHttp: true,
    canGuard: true,
    isOurs(hook) {
      const url = valueAt(hook, ['url'])
      return typeof url === 'string' ? OUR_URL.exec(url)?.[1] === name : isOurProgram(hook)
    },
    guardsOf(hook) {
      const said = valueAt(hook, ['headers', 'x-hookspan-decide'])
      return said === 'open' || said === 'closed' ? said : guardsOfCommand(valueAt(hook, ['command']))
    },
    check(root, receiver) {
      if (valueAt(root, ['disableAllHooks']) === true) {
        throw new Error(`disableAllHooks is true there: ${title} runs no hook at all; take it out first`)
      }
      const list = valueAt(root, allowed)
      const isOpen = !Array.isArray(list) || (isEmptyListOpen && list.length === 0)
      const url = urlOf(name, receiver)
      if (!isOpen && !list.some(each => typeof each === 'string' && covers(each, url))) {
        throw new Error(`${allowed.join('.')} there does not allow ${url}; add it to that list first`)
      }
    },
  })
}

/** True if an allowed URL is this one; `*` matches anything. */
function covers(allowed: string, url: string): boolean {
  const pattern = allowed.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(url)
}

function urlOf(agent: string, { port }: ReceiverAccess): string {
  return `http://127.0.0.1:${port}/${agent}`
}

function requestFor(agent: string, event: string, receiver: ReceiverAccess): object {
  const guards: Guards = GUARDED.asked.has(event) ? receiver.guards : undefined
  const headers = { 'x-hookspan-token': receiver.token, ...(guards !== undefined && { 'x-hookspan-decide': guards }) }
  return { url: urlOf(agent, receiver), headers, timeout: guards === undefined ? TIMEOUT : ASKED_TIMEOUT }
}

function closes(event: string, { guards }: ReceiverAccess): boolean {
  return guards === 'closed' && GUARDED.closed.has(event)
}

/** One group of hooks by event: the request first, then the program. */
function groupsOf(
  events: readonly string[],
  programs: ReadonlyMap<string, readonly object[]>,
  hooksOf: (event: string) => readonly object[],
): ReadonlyMap<string, object> {
  const groups = new Map([...programs].map(([event, hooks]) => [event, { hooks }]))
  for (const event of events) groups.set(event, { hooks: hooksOf(event) })
  return groups
}

/**
 * Events sent by a program, which starts a receiver if none listens.
 *
 * - SessionStart: Claude Code has no other way. The program waits for the receiver, so that the hooks that follow find it.
 * - SessionEnd: Claude Code prints an error if nothing listens. The program leaves the event in the spool instead.
 * - UserPromptSubmit: sent by HTTP as well. The program covers a receiver that has ended while the user was away.
 * - PostToolBatch, Stop: sent by HTTP as well. A shell looks for the receiver's process, and runs the program only if it is
 * gone.
 */
const CLAUDE_PROGRAMS: Readonly<Record<string, 'awaited' | 'async' | 'unless up'>> = {
  SessionStart: 'awaited',
  UserPromptSubmit: 'async',
  PostToolBatch: 'unless up',
  Stop: 'unless up',
  SessionEnd: 'awaited',
}
const CLAUDE = 'claude-code'
const OUR_PROGRAM = /[/\\]dist[/\\]hook\.cjs$/

/** Claude Code (read from 2.1.330). */
export const claudeCode: HostSetup = httpHost({
  name: CLAUDE,
  title: 'Claude Code',
  folder: '.claude',
  variable: 'CLAUDE_CONFIG_DIR',
  allowed: ['allowedHttpHookUrls'],
  isEmptyListOpen: false,
  entriesOf(receiver) {
    const programs = new Map(
      Object.entries(CLAUDE_PROGRAMS).map(([event, how]) => [event, claudePrograms(event, how, receiver)]),
    )
    return groupsOf([...BY_HTTP, 'PostModelSwitch'], programs, event => {
      const request = { type: 'http', ...requestFor(CLAUDE, event, receiver) }
      return [closes(event, receiver) ? { ...request, onFailure: 'block' } : request, ...(programs.get(event) ?? [])]
    })
  },
  isOurProgram(hook) {
    const { args } = hook as { args?: unknown }
    const before: unknown = Array.isArray(args) ? args[args.indexOf(CLAUDE) - 1] : undefined
    return typeof before === 'string' && OUR_PROGRAM.test(before)
  },
})

function claudePrograms(event: string, how: 'awaited' | 'async' | 'unless up', receiver: ReceiverAccess): object[] {
  const options = event === GUARDED.first ? ['--up'] : []
  const args = [join(receiver.folder, 'dist', 'hook.cjs'), CLAUDE, ...options]
  const program = { type: 'command', command: process.execPath, args, timeout: PROGRAM_TIMEOUT }
  if (how === 'awaited') return [program]
  if (how === 'async') return [{ ...program, async: true }]
  // Windows may have no such shell.
  if (process.platform === 'win32') return []
  const shell = ['-c', UNLESS_UP, 'sh', receiver.pidFile, process.execPath, ...args]
  return [{ ...program, command: 'sh', args: shell, async: true }]
}

/**
 * Events sent by a program, which starts a receiver if none listens. SessionStart waits for it. For events also sent by HTTP, a
 * shell looks for the receiver's process and runs the program only if it is gone. Qwen Code waits for that: `qwen -p` ends
 * without SessionEnd, and might end before a background program has run.
 */
const QWEN_PROGRAMS: Readonly<Record<string, 'always' | 'unless up'>> = {
  SessionStart: 'always',
  UserPromptSubmit: 'unless up',
  PostToolBatch: 'unless up',
  Stop: 'unless up',
  SessionEnd: 'always',
}
const QWEN = 'qwen'
/** Qwen Code drops all but the first hook of the same name at one event. */
const NAMES = { request: 'hookspan', program: 'hookspan-program' }

/** Qwen Code (read from 0.24.4). */
export const qwen: HostSetup = httpHost({
  name: QWEN,
  title: 'Qwen Code',
  folder: '.qwen',
  variable: 'QWEN_HOME',
  allowed: ['security', 'allowedHttpHookUrls'],
  isEmptyListOpen: true,
  entriesOf(receiver) {
    // On Windows, Qwen Code would choose among three shells.
    const shell = process.platform === 'win32' ? { shell: 'powershell' } : {}
    const program = (command: string): object => {
      return {
        type: 'command',
        name: NAMES.program,
        command: powerShellCall(command),
        ...shell,
        timeout: PROGRAM_TIMEOUT,
      }
    }
    const always = (event: string): object =>
      program(commandFor(QWEN, receiver, guardOptions(event, receiver.guards, GUARDED)))
    // Windows may have no such shell.
    const used = Object.entries(QWEN_PROGRAMS).filter(([, how]) => how === 'always' || process.platform !== 'win32')
    const programs = new Map(
      used.map(([event, how]) => [event, [how === 'always' ? always(event) : program(unlessUp(QWEN, receiver))]]),
    )
    return groupsOf(BY_HTTP, programs, event => {
      // If nothing answers, only the exit code of a program can block.
      if (closes(event, receiver)) return [always(event)]
      const request = { type: 'http', name: NAMES.request, ...requestFor(QWEN, event, receiver) }
      return [request, ...(programs.get(event) ?? [])]
    })
  },
  isOurProgram: hook => isCommandFor(QWEN, valueAt(hook, ['command'])),
})

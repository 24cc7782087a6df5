import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { jsonIn } from '../../agents/event-json.ts'
import { ignoreErrors } from '../../contract/foreign.ts'
import { nearestName } from '../../plugin/config/nearest.ts'
import { hermes, hermesWebhook } from './hermes.ts'
import type { GuardedEvents, Guards, HooksHost, ReceiverAccess } from './hooks-host.ts'
import { commandFor, guardOptions, hooksHost, isCommandFor, powerShellCall, UNLESS_UP, unlessUp } from './hooks-host.ts'
import { type JsonPath, valueAt } from './json-config.ts'
import { openclaw } from './openclaw.ts'
import type { HostSetup, InitContext } from './plan.ts'
import { folderFrom, inHome, kilo, opencode, pi } from './plugin-file.ts'
import { SDK_CODE, type SdkCode } from './sdk-code.ts'

interface CommandHost extends Omit<HooksHost, 'entriesOf' | 'canGuard'> {
  readonly events: readonly string[]
  readonly guarded?: GuardedEvents
  readonly guardEvents?: readonly string[]
  /** @param isDecided the command prints the decision of guards, so the agent must wait for it */
  entry(command: string, event: string, isDecided: boolean): object
}

function commandHost({ events, guarded, guardEvents = [], entry, ...host }: CommandHost): HostSetup {
  const entriesOf = (receiver: ReceiverAccess): ReadonlyMap<string, object> => {
    const all = receiver.guards === undefined ? events : [...events, ...guardEvents]
    const entries = all.map(event => {
      const options = guarded === undefined ? [] : guardOptions(event, receiver.guards, guarded)
      const isDecided = options.some(option => option !== '--up')
      return [event, entry(commandFor(host.name, receiver.folder, options), event, isDecided)] as const
    })
    return new Map(entries)
  }
  return hooksHost({ ...host, canGuard: guarded !== undefined, entriesOf })
}

/** In seconds. A forwarder takes a tenth of a second and the start of a process. */
const TIMEOUT = 5
/** The guarded events of agents with the hooks of Claude Code. */
const ASKED = new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop'])

/** Codex reads the hooks of its home and runs those that the user has trusted (read from 0.169.0). */
const codex: HostSetup = commandHost({
  name: 'codex',
  title: 'Codex',
  folder: inHome('.codex', 'CODEX_HOME'),
  file: 'hooks.json',
  isHooksFile: true,
  events: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PostToolUse', 'SubagentStart'],
    ...['SubagentStop', 'PreCompact', 'PostCompact', 'Stop', 'Interrupt', 'SessionEnd'],
  ],
  guarded: { asked: ASKED, closed: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse']), first: 'SessionStart' },
  entry(command, event, isDecided) {
    // The result is in the rollout; the hook only triggers reading it.
    const isAsync = event === 'PostToolUse' && !isDecided
    return { hooks: [{ type: 'command', command, timeout: TIMEOUT, ...(isAsync && { async: true }) }] }
  },
  notes: [
    'Codex runs no hook before you trust it. Start codex: it shows "Hooks need review"; choose "Trust all and continue".',
    'Until then, codex and codex exec run without hookspan and print no warning.',
  ],
})

/** Cursor, the editor and the CLI, according to its documentation. */
const cursor: HostSetup = commandHost({
  name: 'cursor',
  title: 'Cursor',
  folder: inHome('.cursor'),
  file: 'hooks.json',
  isHooksFile: true,
  head: [{ path: ['version'], value: 1 }],
  // Events of a single kind of tool are left out: they would emit each call a second time.
  events: [
    ...['sessionStart', 'beforeSubmitPrompt', 'preToolUse', 'postToolUse', 'postToolUseFailure', 'subagentStart'],
    ...['subagentStop', 'afterAgentResponse', 'stop', 'sessionEnd'],
  ],
  entry: command => ({ command, timeout: TIMEOUT }),
  notes: ['Cursor loads it at its next start. It follows the documentation of Cursor and was not tested with it.'],
})

/** GitHub Copilot CLI reads every file of a folder (read from 1.0.102). Its session file has most facts. */
const copilot: HostSetup = commandHost({
  name: 'copilot',
  title: 'GitHub Copilot CLI',
  folder: inHome('.copilot', 'COPILOT_HOME'),
  file: join('hooks', 'hookspan.json'),
  isHooksFile: true,
  head: [{ path: ['version'], value: 1 }],
  // With this spelling, each event contains its own name.
  events: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'ErrorOccurred'],
    ...['Stop', 'SubagentStop', 'SessionEnd'],
  ],
  // A failing command, for example one that was removed, would deny the tool.
  entry(command) {
    const [bash, powershell] = [`${command} || true`, `& ${command}; exit 0`]
    return { type: 'command', bash, powershell, timeoutSec: TIMEOUT }
  },
  notes: ['Copilot loads it at its next start.'],
})

/** Gemini CLI (read from 0.61.0), which supports only commands. */
const gemini: HostSetup = commandHost({
  name: 'gemini',
  title: 'Gemini CLI',
  folder(user) {
    const home = user.env['GEMINI_CLI_HOME']?.trim() ?? ''
    return folderFrom(home && join(home, '.gemini'), join(user.home, '.gemini'), user)
  },
  file: 'settings.json',
  // Gemini CLI waits for a program at each event, so redundant events and those for each chunk of an answer are left out.
  events: ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'Notification', 'AfterAgent', 'SessionEnd'],
  // Request events add nothing to the session file.
  guardEvents: ['BeforeModel'],
  guarded: {
    asked: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool', 'AfterAgent']),
    closed: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool']),
    first: 'SessionStart',
  },
  // On Windows, Gemini CLI runs commands in PowerShell.
  entry: command => ({
    hooks: [{ type: 'command', name: 'hookspan', command: powerShellCall(command), timeout: 1000 * TIMEOUT }],
  }),
  check(root) {
    if (valueAt(root, ['hooksConfig', 'enabled']) === false) {
      throw new Error('hooksConfig.enabled is false there: Gemini CLI runs no hook at all; take it out first')
    }
  },
})

/** Agents that post their hooks to the receiver: Claude Code, and Qwen Code with the same events. */

const BY_HTTP = [
  ...['UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse', 'PostToolUseFailure'],
  ...['PostToolBatch', 'SubagentStart', 'SubagentStop', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact'],
]
/** Events at which our program runs, too. It starts a receiver if none listens. */
const PROGRAM_EVENTS = ['SessionStart', 'UserPromptSubmit', 'PostToolBatch', 'Stop', 'SessionEnd']
const CLOSED = new Set(['UserPromptSubmit', 'PreToolUse'])
const GUARDED: GuardedEvents = { asked: ASKED, closed: CLOSED, first: 'SessionStart' }
/** In seconds. Only a hung receiver takes so long. Less loses hooks on a busy machine. Guards time out after one second. */
const HTTP_TIMEOUT = 1
const ASKED_TIMEOUT = 2
const OUR_URL = /^http:\/\/127\.0\.0\.1:\d+\/(?:t\/[0-9a-f]{64}\/)?([\w-]+)$/

interface HttpHost extends Pick<HooksHost, 'name' | 'title' | 'folder'> {
  readonly allowed: JsonPath
  readonly isEmptyListOpen: boolean
  /** Events sent by HTTP. */
  readonly events: readonly string[]
  /** The hook that runs our program at one of `PROGRAM_EVENTS`. Empty if it cannot be run. */
  programOf(event: string, receiver: ReceiverAccess): readonly object[]
  /** The hooks of an event sent by HTTP, in this order: the request, then the program. */
  hooksOf(event: string, receiver: ReceiverAccess, program: readonly object[]): readonly object[]
  isOurProgram(hook: object): boolean
}

function httpHost(spec: HttpHost): HostSetup {
  const { allowed, isEmptyListOpen, events, programOf, hooksOf, isOurProgram, ...host } = spec
  const { name, title } = host
  return hooksHost({
    ...host,
    file: 'settings.json',
    isByHttp: true,
    canGuard: true,
    entriesOf(receiver) {
      const groups = [...new Set([...PROGRAM_EVENTS, ...events])].map((event): [string, object] => {
        const program = PROGRAM_EVENTS.includes(event) ? programOf(event, receiver) : []
        return [event, { hooks: events.includes(event) ? hooksOf(event, receiver, program) : program }]
      })
      return new Map(groups)
    },
    isOurs(hook) {
      const url = valueAt(hook, ['url'])
      return typeof url === 'string' ? OUR_URL.exec(url)?.[1] === name : isOurProgram(hook)
    },
    guardsOf(hook) {
      const said = valueAt(hook, ['headers', 'x-hookspan-decide'])
      return said === 'open' || said === 'closed' ? said : undefined
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
  return { url: urlOf(agent, receiver), headers, timeout: guards === undefined ? HTTP_TIMEOUT : ASKED_TIMEOUT }
}

/** Windows may have none. */
function hasShell(): boolean {
  return process.platform !== 'win32'
}

function closes(event: string, { guards }: ReceiverAccess): boolean {
  return guards === 'closed' && GUARDED.closed.has(event)
}

const CLAUDE = 'claude-code'
const OUR_PROGRAM = /[/\\]dist[/\\]hook\.cjs$/

/** Claude Code (read from 2.1.330). */
export const claudeCode: HostSetup = httpHost({
  name: CLAUDE,
  title: 'Claude Code',
  folder: inHome('.claude', 'CLAUDE_CONFIG_DIR'),
  allowed: ['allowedHttpHookUrls'],
  isEmptyListOpen: false,
  events: [...BY_HTTP, 'PostModelSwitch'],
  /**
   * - SessionStart: Claude Code has no other way. The program waits for the receiver, so that the hooks that follow find it.
   * - SessionEnd: Claude Code prints an error if nothing listens. The program leaves the event in the spool instead.
   * - UserPromptSubmit: sent by HTTP as well. The program covers a receiver that has ended while the user was away.
   * - PostToolBatch, Stop: sent by HTTP as well. A shell looks for the receiver's process, and runs the program only if it is
   * gone.
   */
  programOf(event, receiver) {
    const options = event === GUARDED.first ? ['--up'] : []
    const args = [join(receiver.folder, 'dist', 'hook.cjs'), CLAUDE, ...options]
    const program = { type: 'command', command: process.execPath, args, timeout: TIMEOUT }
    if (!BY_HTTP.includes(event)) return [program]
    if (event === 'UserPromptSubmit') return [{ ...program, async: true }]
    const shell = ['-c', UNLESS_UP, 'sh', receiver.pidFile, process.execPath, ...args]
    return hasShell() ? [{ ...program, command: 'sh', args: shell, async: true }] : []
  },
  hooksOf(event, receiver, program) {
    const request = { type: 'http', ...requestFor(CLAUDE, event, receiver) }
    return [closes(event, receiver) ? { ...request, onFailure: 'block' } : request, ...program]
  },
  isOurProgram(hook) {
    const { args } = hook as { args?: unknown }
    const before: unknown = Array.isArray(args) ? args[args.indexOf(CLAUDE) - 1] : undefined
    return typeof before === 'string' && OUR_PROGRAM.test(before)
  },
})

const QWEN = 'qwen'
/** Qwen Code drops all but the first hook of the same name at one event. */
const NAMES = { request: 'hookspan', program: 'hookspan-program' }

/** Qwen Code (read from 0.24.4). */
const qwen: HostSetup = httpHost({
  name: QWEN,
  title: 'Qwen Code',
  folder: inHome('.qwen', 'QWEN_HOME'),
  allowed: ['security', 'allowedHttpHookUrls'],
  isEmptyListOpen: true,
  events: BY_HTTP,
  /**
   * At SessionStart, it waits for the receiver. For events also sent by HTTP, a shell looks for the receiver's process and runs
   * the program only if it is gone. Qwen Code waits for that: `qwen -p` ends without SessionEnd, and might end before a
   * background program has run.
   */
  programOf(event, receiver) {
    if (!BY_HTTP.includes(event)) return [qwenProgram(qwenCommand(event, receiver))]
    return hasShell() ? [qwenProgram(unlessUp(QWEN, receiver))] : []
  },
  hooksOf(event, receiver, program) {
    // If nothing answers, only the exit code of a program can block.
    if (closes(event, receiver)) return [qwenProgram(qwenCommand(event, receiver))]
    return [{ type: 'http', name: NAMES.request, ...requestFor(QWEN, event, receiver) }, ...program]
  },
  isOurProgram: hook => isCommandFor(QWEN, valueAt(hook, ['command'])),
})

function qwenCommand(event: string, receiver: ReceiverAccess): string {
  return commandFor(QWEN, receiver.folder, guardOptions(event, receiver.guards, GUARDED))
}

function qwenProgram(command: string): object {
  // On Windows, Qwen Code would choose among three shells.
  const shell = hasShell() ? {} : { shell: 'powershell' }
  return { type: 'command', name: NAMES.program, command: powerShellCall(command), ...shell, timeout: TIMEOUT }
}

export interface HostRow {
  readonly setup: HostSetup
  /** Its program names on the PATH; empty if another program has the same name. */
  readonly programs: readonly string[]
  /** The folder is shared with other programs, so this file in it must exist. */
  readonly file?: string
  readonly otherWay?: HostSetup
}

/**
 * Names that other programs share are not looked up: a Debian package has a `pi` that computes the number, AWS has a `copilot`,
 * `kilo` is also an editor, `hermes` a JavaScript engine and a blockchain relayer. The relayer has its `config.toml` in the
 * folder of Hermes, and other Google programs use the folder of Gemini CLI.
 */
export const HOSTS: ReadonlyMap<string, HostRow> = new Map<string, HostRow>([
  ['pi', { setup: pi, programs: [] }],
  ['openclaw', { setup: openclaw, programs: ['openclaw'] }],
  ['opencode', { setup: opencode, programs: ['opencode'] }],
  ['kilo', { setup: kilo, programs: ['kilocode'] }],
  ['hermes', { setup: hermes, programs: [], file: 'config.yaml', otherWay: hermesWebhook }],
  ['claude-code', { setup: claudeCode, programs: ['claude'] }],
  ['codex', { setup: codex, programs: ['codex'] }],
  ['cursor', { setup: cursor, programs: ['cursor', 'cursor-agent'] }],
  ['copilot', { setup: copilot, programs: [] }],
  ['gemini', { setup: gemini, programs: ['gemini'], file: 'settings.json' }],
  ['qwen', { setup: qwen, programs: ['qwen'] }],
])

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']

export interface DetectedAgent<Row> {
  readonly name: string
  readonly row: Row
  readonly sign: string
}

export function hostsHere(surroundings: InitContext): DetectedAgent<HostRow>[] {
  return seen(HOSTS, row => programOf(row, surroundings) ?? folderOf(row, surroundings))
}

export function sdksNear(from: string): DetectedAgent<SdkCode>[] {
  return seen(SDK_CODE, row => row.manifests.map(name => nearest(from, name)).find(path => path && uses(path, row)))
}

function seen<Row>(rows: ReadonlyMap<string, Row>, signOf: (row: Row) => string | undefined): DetectedAgent<Row>[] {
  return [...rows].flatMap(([name, row]) => {
    const sign = signOf(row)
    return sign === undefined ? [] : [{ name, row, sign }]
  })
}

function programOf({ programs }: HostRow, { env }: InitContext): string | undefined {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(isAbsolute)
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE;.CMD').split(';') : ['']
  const paths = programs.flatMap(name => folders.flatMap(folder => endings.map(end => join(folder, name + end))))
  return paths.find(isProgram)
}

function isProgram(path: string): boolean {
  const isExecutable = (): boolean => {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  }
  return ignoreErrors(isExecutable) === true
}

function folderOf({ setup, file = '' }: HostRow, surroundings: InitContext): string | undefined {
  const path = join(setup.folder(surroundings), file)
  return existsSync(path) ? path : undefined
}

function nearest(from: string, name: string): string | undefined {
  const path = join(from, name)
  if (existsSync(path)) return path
  return dirname(from) === from ? undefined : nearest(dirname(from), name)
}

/** Unreadable files count as not using it: they belong to the project and are not checked here. */
function uses(path: string, { package: name }: SdkCode): boolean {
  const text = ignoreErrors(() => readFileSync(path, 'utf8')) ?? ''
  if (!path.endsWith('.json')) return namesPython(text, name)
  const manifest = jsonIn(text)
  return DEPENDENCIES.some(list => valueAt(manifest, [list, name]) !== undefined)
}

/** Python treats `.`, `-` and `_` in names alike. */
function namesPython(text: string, name: string): boolean {
  const spelled = name.replaceAll('-', '[-_.]')
  return new RegExp(`(?<![\\w.-])${spelled}(?![\\w-]|\\.\\w)`, 'i').test(text)
}

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  pi: ['picodingagent', 'pimono'],
  openclaw: ['clawdbot', 'moltbot'],
  'claude-agent-sdk': ['anthropic', 'claudesdk', 'claudecodesdk'],
  'claude-code': ['claude', 'claudecli'],
  hermes: ['hermesagent', 'nousresearch'],
  'ai-sdk': ['ai', 'vercel', 'vercelai', 'vercelaisdk'],
  codex: ['codexcli', 'openaicodex'],
  cursor: ['cursoragent', 'cursorcli'],
  copilot: ['copilotcli', 'githubcopilot'],
  locus: ['locussdk'],
}
const OPENAI = 'there is no adapter for the plain OpenAI client; for the OpenAI Agents SDK: hookspan init openai-agents'

export function unknownHost(name: string, hosts: readonly string[]): string {
  if (name.toLowerCase().replace(/[^a-z0-9]/g, '') === 'openai') return OPENAI
  const near = nearestName(name, [...hosts, ...Object.values(ALIASES).flat()])
  const meant = hosts.find(each => ALIASES[each]?.includes(near ?? '')) ?? near
  const what = `there is no host ${JSON.stringify(name.slice(0, 60))}`
  if (meant !== undefined) return `${what}. Did you mean ${meant}?`
  return `${what}; hosts: ${hosts.join(', ')}. An agent of your own calls its hooks itself: docs/own-agent.md`
}

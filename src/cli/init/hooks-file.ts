import { dirname, join } from 'node:path'
import { aboutGuards, type Guards } from './hook-agent.ts'
import { commandFor, type GuardedEvents, guardOptions, guardsOfCommand, isCommandFor } from './hook-command.ts'
import {
  about,
  byHand,
  edited,
  editJson,
  exactUndo,
  FRESH,
  type JsonChange,
  type JsonConfig,
  readConfig,
  valueAt,
} from './json-config.ts'
import type { HostSetup, InitContext, Plan } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

/** An agent that runs a command for each hook, configured by a JSON file: `{hooks: {<event>: [<entry>]}}`. */
interface HooksFileHost {
  readonly name: string
  readonly title: string
  readonly events: readonly string[]
  /** Events that the agent need not wait for, unless a guard decides. */
  readonly async?: ReadonlySet<string>
  entry(command: string, isAsync: boolean): object
  readonly head: readonly JsonChange[]
  readonly notes: readonly string[]
  readonly guarded?: GuardedEvents
  /** The agent's folder. @throws Error if there is no home directory */
  folder(surroundings: InitContext): string
  readonly file: string
}

/** In seconds. A forwarder takes a tenth of a second and the start of a process. */
const TIMEOUT = 5

function hooksFileSetup(host: HooksFileHost): HostSetup {
  return {
    title: host.title,
    canGuard: host.guarded !== undefined,
    folder: surroundings => host.folder(surroundings),
    enable: surroundings => enable(host, surroundings),
    undo: surroundings => undo(host, surroundings),
    print: surroundings => ({
      file: fileOf(host, surroundings),
      content: editJson(FRESH, enabling(host, {}, surroundings, guardsFor(host, {}, surroundings))),
      note: `to be merged into that file. ${host.notes.join(' ')}`,
    }),
  }
}

async function enable(host: HooksFileHost, surroundings: InitContext): Promise<Plan> {
  const config = await configOf(host, surroundings)
  const guards = guardsFor(host, config.value, surroundings)
  const changes = about(config, root => enabling(host, root, surroundings, guards))
  const { title } = host
  const notes = [...host.notes, ...aboutGuards(title, guards)]
  if (changes.length === 0)
    return { kind: 'nothing', file: config.file, why: `${title} sends its hooks to hookspan already`, notes }
  return byHand(config, changes) ?? { kind: 'change', ...edited(config, changes), notes }
}

async function undo(host: HooksFileHost, surroundings: InitContext): Promise<Plan> {
  const config = await configOf(host, surroundings)
  const changes = about(config, root => changesOf(root, host, () => []))
  if (changes.length === 0)
    return { kind: 'nothing', file: config.file, why: `${host.title} does not send its hooks to hookspan` }
  const guards = guardsIn(host, config.value)
  const folders = [dirname(config.file), host.folder(surroundings)]
  const restored = await exactUndo(config, root => enabling(host, root, surroundings, guards), folders)
  const plan = byHand(config, changes)
  return plan ?? { kind: 'change', ...edited(config, changes), notes: [], ...restored }
}

function enabling(host: HooksFileHost, root: unknown, surroundings: InitContext, guards: Guards): JsonChange[] {
  const head = host.head.filter(({ path }) => valueAt(root, path) === undefined)
  const entryOf = (event: string): object => {
    const options = host.guarded === undefined ? [] : guardOptions(event, guards, host.guarded)
    const wantsDecision = options.some(option => option !== '--up')
    return host.entry(commandFor(host.name, surroundings, options), !wantsDecision && host.async?.has(event) === true)
  }
  return [...head, ...changesOf(root, host, event => (host.events.includes(event) ? [entryOf(event)] : []))]
}

/** Without an explicit choice, the existing setting is kept. */
function guardsFor(host: HooksFileHost, root: unknown, { guards }: InitContext): Guards {
  if (host.guarded === undefined || guards === 'off') return undefined
  return guards ?? guardsIn(host, root)
}

function guardsIn(host: HooksFileHost, root: unknown): Guards {
  const hooks = valueAt(root, ['hooks'])
  const lists = typeof hooks === 'object' && hooks !== null ? Object.values(hooks).flat() : []
  const entries = lists.flatMap(entry => [entry, ...[valueAt(entry, ['hooks']) ?? []].flat()])
  const said = entries.filter(entry => isOurs(entry, host)).map(entry => guardsOfCommand(valueAt(entry, ['command'])))
  return said.includes('closed') ? 'closed' : said.find(guards => guards !== undefined)
}

/** The changes of lists that differ from the wanted ones. Entries of the user are kept. @throws Error in one line */
function changesOf(root: unknown, host: HooksFileHost, wanted: (event: string) => readonly object[]): JsonChange[] {
  const hooks = valueAt(root, ['hooks']) ?? {}
  if (typeof hooks !== 'object' || Array.isArray(hooks)) throw new Error('hooks is no object in it')
  const events = new Set([...host.events, ...Object.keys(hooks)])
  return [...events].flatMap(event => {
    const path = ['hooks', event]
    const list = valueAt(root, path) ?? []
    if (!Array.isArray(list)) throw new Error(`hooks.${event} is no list in it`)
    const ours = list.filter(entry => withoutOurs(entry, host) !== entry)
    if (JSON.stringify(ours) === JSON.stringify(wanted(event))) return []
    const after = [
      ...list.map(entry => withoutOurs(entry, host)).filter(entry => entry !== undefined),
      ...wanted(event),
    ]
    return [{ path, value: after.length === 0 ? undefined : after }]
  })
}

function withoutOurs(entry: unknown, host: HooksFileHost): unknown {
  const hooks = valueAt(entry, ['hooks'])
  if (!Array.isArray(hooks)) return isOurs(entry, host) ? undefined : entry
  const others = hooks.filter(hook => !isOurs(hook, host))
  if (others.length === hooks.length) return entry
  return others.length === 0 ? undefined : { ...(entry as object), hooks: others }
}

function isOurs(hook: unknown, { name }: HooksFileHost): boolean {
  return [['command'], ['bash']].some(path => isCommandFor(name, valueAt(hook, path)))
}

function configOf(host: HooksFileHost, surroundings: InitContext): Promise<JsonConfig> {
  return readConfig(fileOf(host, surroundings), true)
}

function fileOf(host: HooksFileHost, surroundings: InitContext): string {
  return join(host.folder(surroundings), host.file)
}

/** Codex reads the hooks of its home and runs those that the user has trusted (read from 0.169.0). */
export const codex: HostSetup = hooksFileSetup({
  name: 'codex',
  title: 'Codex',
  events: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PostToolUse', 'SubagentStart'],
    ...['SubagentStop', 'PreCompact', 'PostCompact', 'Stop', 'Interrupt', 'SessionEnd'],
  ],
  entry: (command, isAsync) => ({
    hooks: [{ type: 'command', command, timeout: TIMEOUT, ...(isAsync && { async: true }) }],
  }),
  // The result is in the rollout; the hook only triggers reading it.
  async: new Set(['PostToolUse']),
  guarded: {
    asked: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop']),
    closed: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse']),
    first: 'SessionStart',
  },
  head: [],
  notes: [
    'Codex runs no hook before you trust it. Start codex: it shows "Hooks need review"; choose "Trust all and continue".',
    'Until then, codex and codex exec run without hookspan and print no warning.',
  ],
  folder: surroundings => folderFrom(surroundings.env['CODEX_HOME'], join(surroundings.home, '.codex'), surroundings),
  file: 'hooks.json',
})

/** Cursor, the editor and the CLI, according to its documentation. */
export const cursor: HostSetup = hooksFileSetup({
  name: 'cursor',
  title: 'Cursor',
  // Events of a single kind of tool are left out: they would emit each call a second time.
  events: [
    ...['sessionStart', 'beforeSubmitPrompt', 'preToolUse', 'postToolUse', 'postToolUseFailure', 'subagentStart'],
    ...['subagentStop', 'afterAgentResponse', 'stop', 'sessionEnd'],
  ],
  entry: command => ({ command, timeout: TIMEOUT }),
  head: [{ path: ['version'], value: 1 }],
  notes: ['Cursor loads it at its next start. It follows the documentation of Cursor and was not tested with it.'],
  folder: surroundings => folderFrom(undefined, join(surroundings.home, '.cursor'), surroundings),
  file: 'hooks.json',
})

/** GitHub Copilot CLI reads every file of a folder (read from 1.0.102). Its session file has most facts. */
export const copilot: HostSetup = hooksFileSetup({
  name: 'copilot',
  title: 'GitHub Copilot CLI',
  // With this spelling, each event contains its own name.
  events: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'ErrorOccurred', 'Stop'],
    ...['SubagentStop', 'SessionEnd'],
  ],
  // A failing command, for example one that was removed, would deny the tool.
  entry: command => ({
    type: 'command',
    bash: `${command} || true`,
    powershell: `& ${command}; exit 0`,
    timeoutSec: TIMEOUT,
  }),
  head: [{ path: ['version'], value: 1 }],
  notes: ['Copilot loads it at its next start.'],
  folder: surroundings =>
    folderFrom(surroundings.env['COPILOT_HOME'], join(surroundings.home, '.copilot'), surroundings),
  file: join('hooks', 'hookspan.json'),
})

import { dirname, join } from 'node:path'
import {
  commandFor,
  type GuardedEvents,
  guardOptions,
  guardsOfCommand,
  isCommandFor,
  lightCommandFor,
} from './hook-command.ts'
import { aboutGuards, type Guards } from './hook-settings.ts'
import { editJson, type JsonChange, valueAt } from './json-change.ts'
import { about, byHand, edited, exactUndo, FRESH, type JsonConfig, readConfig } from './json-config.ts'
import type { HostSetup, Plan, Surroundings } from './plan.ts'
import { folderFrom } from './plugin-file.ts'

/** An agent that starts a command for each hook, by a JSON file of lists: `{hooks: {<event>: [<entry>]}}`. */
interface HooksFileHost {
  readonly name: string
  readonly title: string
  readonly events: readonly string[]
  /** Its hooks are started by the shell forwarder where no decision is wanted: it waits for each. */
  readonly isLight?: boolean
  /** Events that it need not wait for, unless a decision is wanted. */
  readonly async?: ReadonlySet<string>
  /** What stands in the list of each event. @param command our forwarder, as a line for the shell */
  entry(command: string, isAsync: boolean): object
  /** What the file has beside the hooks. */
  readonly head: readonly JsonChange[]
  /** Said when it is enabled. */
  readonly notes: readonly string[]
  /** Absent: hooks cannot act in it. */
  readonly guarded?: GuardedEvents
  /** Its own. @throws Error when there is no home directory */
  folder(surroundings: Surroundings): string
  /** In that folder. */
  readonly file: string
}

/** Seconds: a forwarder takes a tenth of one, and the start of a process. */
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

async function enable(host: HooksFileHost, surroundings: Surroundings): Promise<Plan> {
  const config = await configOf(host, surroundings)
  const guards = guardsFor(host, config.value, surroundings)
  const changes = about(config, root => enabling(host, root, surroundings, guards))
  const { title } = host
  const notes = [...host.notes, ...aboutGuards(title, guards)]
  if (changes.length === 0) return { kind: 'nothing', file: config.file, why: `${title} tells hookspan already`, notes }
  return byHand(config, changes) ?? { kind: 'change', ...edited(config, changes), notes }
}

async function undo(host: HooksFileHost, surroundings: Surroundings): Promise<Plan> {
  const config = await configOf(host, surroundings)
  const changes = about(config, root => changesOf(root, host, () => []))
  if (changes.length === 0) return { kind: 'nothing', file: config.file, why: `${host.title} does not tell hookspan` }
  const guards = guardsIn(host, config.value)
  const folders = [dirname(config.file), host.folder(surroundings)]
  const restored = await exactUndo(config, root => enabling(host, root, surroundings, guards), folders)
  const plan = byHand(config, changes)
  return plan ?? { kind: 'change', ...edited(config, changes), notes: [], ...restored }
}

function enabling(host: HooksFileHost, root: unknown, surroundings: Surroundings, guards: Guards): JsonChange[] {
  const head = host.head.filter(({ path }) => valueAt(root, path) === undefined)
  const entryOf = (event: string): object => {
    const options = host.guarded === undefined ? [] : guardOptions(event, guards, host.guarded)
    const wantsDecision = options.some(option => option !== '--up')
    const commandOf = host.isLight === true && !wantsDecision ? lightCommandFor : commandFor
    return host.entry(commandOf(host.name, surroundings, options), !wantsDecision && host.async?.has(event) === true)
  }
  return [...head, ...changesOf(root, host, event => (host.events.includes(event) ? [entryOf(event)] : []))]
}

/** Who sets up other agents, too, leaves this one as it is. */
function guardsFor(host: HooksFileHost, root: unknown, { guards }: Surroundings): Guards {
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

/** Lists that are not as they should be: what is not ours stays in them. @throws Error in one line */
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

/** Undefined where nothing else is in it; itself where nothing of ours is. */
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

function configOf(host: HooksFileHost, surroundings: Surroundings): Promise<JsonConfig> {
  return readConfig(fileOf(host, surroundings), true)
}

function fileOf(host: HooksFileHost, surroundings: Surroundings): string {
  return join(host.folder(surroundings), host.file)
}

/** Codex reads the hooks of its home and runs those that its user trusts (read from 0.169.0). */
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
  isLight: true,
  // The rollout has the result. The hook says only when to read it.
  async: new Set(['PostToolUse']),
  guarded: {
    asked: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop']),
    closed: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse']),
    first: 'SessionStart',
  },
  head: [],
  notes: [
    'Codex runs no hook before you trust it. Start codex: it says "Hooks need review"; choose "Trust all and continue".',
    'Until then codex, and codex exec, run without hookspan and do not say so.',
  ],
  folder: surroundings => folderFrom(surroundings.env['CODEX_HOME'], join(surroundings.home, '.codex'), surroundings),
  file: 'hooks.json',
})

/** Cursor, its editor and its command line, as its documentation has it. */
export const cursor: HostSetup = hooksFileSetup({
  name: 'cursor',
  title: 'Cursor',
  // Those of one kind of tool would tell of each call a second time.
  events: [
    ...['sessionStart', 'beforeSubmitPrompt', 'preToolUse', 'postToolUse', 'postToolUseFailure', 'subagentStart'],
    ...['subagentStop', 'afterAgentResponse', 'stop', 'sessionEnd'],
  ],
  entry: command => ({ command, timeout: TIMEOUT }),
  head: [{ path: ['version'], value: 1 }],
  notes: ['Cursor reads it when it starts the next time. This follows its documentation: we could not run Cursor.'],
  folder: surroundings => folderFrom(undefined, join(surroundings.home, '.cursor'), surroundings),
  file: 'hooks.json',
})

/** GitHub Copilot CLI, which reads every file of a folder (read from 1.0.102). Its session file has most facts. */
export const copilot: HostSetup = hooksFileSetup({
  name: 'copilot',
  title: 'GitHub Copilot CLI',
  // Spelled so, each says its own name.
  events: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'ErrorOccurred', 'Stop'],
    ...['SubagentStop', 'SessionEnd'],
  ],
  // A command that fails, as one that is not there any more, would refuse the tool.
  entry: command => ({
    type: 'command',
    bash: `${command} || true`,
    powershell: `& ${command}; exit 0`,
    timeoutSec: TIMEOUT,
  }),
  head: [{ path: ['version'], value: 1 }],
  notes: ['Copilot reads it when it starts the next time.'],
  folder: surroundings =>
    folderFrom(surroundings.env['COPILOT_HOME'], join(surroundings.home, '.copilot'), surroundings),
  file: join('hooks', 'hookspan.json'),
})

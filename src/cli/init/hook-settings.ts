import { type JsonChange, valueAt } from './json-change.ts'

/** Whether an agent waits for what hooks decide, and what it does where they cannot be asked. Undefined: it waits for nothing. */
export type Guards = 'open' | 'closed' | undefined

/** What the person is told of that. */
export function aboutGuards(title: string, guards: Guards): string[] {
  if (guards === undefined) return []
  const waits = `${title} waits up to a second for hooks that act (docs/receiver.md).`
  if (guards === 'open') return [`${waits} Where the receiver is not there, it goes on.`]
  return [`${waits} Where the receiver is not there, it runs no tool and takes no prompt.`]
}

/** What an agent is told of the receiver. */
export interface Receiver {
  readonly port: number
  readonly token: string
  /** Only for an agent in which hooks can act. */
  readonly guards?: Guards
  /** Where hookspan is installed. */
  readonly folder: string
  /** The file with its process id. */
  readonly pidFile: string
}

/** How the settings of an agent name what it tells, below `hooks` in a file of JSON. */
export interface HookSettings {
  /** As the agent calls itself. */
  readonly title: string
  /** By event: ours. */
  hooksOf(receiver: Receiver): ReadonlyMap<string, readonly object[]>
  isOurs(hook: object): boolean
  /** What a hook of ours says of that. Absent: hooks cannot act in this agent. */
  guardsOf?(hook: object): Guards
  /** @throws Error in one line, where the agent would run none of them */
  check(root: unknown, receiver: Receiver): void
}

/** What is missing in the settings for the agent to tell the receiver; none when nothing is. @throws Error in one line */
export function enabling(settings: HookSettings, root: unknown, receiver: Receiver): JsonChange[] {
  settings.check(root, receiver)
  return changes(settings, root, settings.hooksOf(receiver))
}

/** What there is of us, and nothing else. @throws Error in one line */
export function disabling(settings: HookSettings, root: unknown): JsonChange[] {
  return changes(settings, root, new Map())
}

/** The port that hooks of ours there name. */
export function portIn(settings: HookSettings, root: unknown): number | undefined {
  for (const hook of ourHooks(settings, root)) {
    const { url } = hook as { url?: unknown }
    if (typeof url === 'string') return Number(new URL(url).port)
  }
  return undefined
}

/** How the agent is set up to wait for hooks. */
export function guardsIn(settings: HookSettings, root: unknown): Guards {
  const said = ourHooks(settings, root).map(hook => settings.guardsOf?.(hook))
  return said.includes('closed') ? 'closed' : said.find(guards => guards !== undefined)
}

function ourHooks(settings: HookSettings, root: unknown): object[] {
  const hooks = valueAt(root, ['hooks'])
  const all = isObject(hooks)
    ? Object.keys(hooks).flatMap(event => groupsOf(settings, root, event).flatMap(hooksIn))
    : []
  return all.filter((hook): hook is object => isObject(hook) && settings.isOurs(hook))
}

/** Whether a list of addresses that hooks may go to has this one in it; `*` in it stands for anything. */
export function allows(list: unknown, url: string): boolean {
  return !Array.isArray(list) || list.some(one => typeof one === 'string' && covers(one, url))
}

function covers(allowed: string, url: string): boolean {
  const pattern = allowed.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(url)
}

/** By event: ours in one group, in the place where it is; others stay as they are. */
function changes(settings: HookSettings, root: unknown, wanted: ReadonlyMap<string, readonly object[]>): JsonChange[] {
  const hooks = valueAt(root, ['hooks'])
  if (hooks !== undefined && !isObject(hooks))
    throw new Error(`hooks there is no object; ${settings.title} reads nothing of it`)
  const events = new Set([...wanted.keys(), ...Object.keys(hooks ?? {})])
  return [...events].flatMap(event => changesOf(settings, root, event, wanted.get(event)))
}

function changesOf(
  settings: HookSettings,
  root: unknown,
  event: string,
  wanted: readonly object[] | undefined,
): JsonChange[] {
  const path = ['hooks', event]
  const isOurs = (hook: unknown): boolean => isObject(hook) && settings.isOurs(hook)
  const groups = groupsOf(settings, root, event)
  const own = groups.findIndex(group => hooksIn(group).some(isOurs))
  const group = wanted === undefined ? [] : [{ hooks: wanted }]
  if (own < 0) return group.length === 0 ? [] : [{ path, value: [...groups, ...group] }]
  // Somebody may have put hooks of their own beside ours.
  const kept = groups.flatMap((each, index) => {
    const others = hooksIn(each).filter(hook => !isOurs(hook))
    const isAll = others.length === hooksIn(each).length
    const rest = isAll ? [each] : others.length > 0 ? [{ ...(each as object), hooks: others }] : []
    return index === own ? [...rest, ...group] : rest
  })
  if (JSON.stringify(kept) === JSON.stringify(groups)) return []
  return [{ path, value: kept.length === 0 ? undefined : kept }]
}

/** @throws Error in one line */
function groupsOf({ title }: HookSettings, root: unknown, event: string): readonly unknown[] {
  const groups = valueAt(root, ['hooks', event]) ?? []
  if (Array.isArray(groups)) return groups
  throw new Error(`hooks.${event} there is no list; ${title} reads nothing of it`)
}

function hooksIn(group: unknown): readonly unknown[] {
  const hooks = isObject(group) ? (group as { hooks?: unknown }).hooks : undefined
  return Array.isArray(hooks) ? hooks : []
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

import { type JsonChange, valueAt } from './json-text.ts'

/** How the agent behaves if guards cannot answer. Undefined: it does not wait for guards. */
export type Guards = 'open' | 'closed' | undefined

export function aboutGuards(title: string, guards: Guards): string[] {
  if (guards === undefined) return []
  const waits = `${title} waits up to a second for hooks that act (docs/receiver.md).`
  if (guards === 'open') return [`${waits} Where the receiver is not there, it goes on.`]
  return [`${waits} Where the receiver is not there, it runs no tool and takes no prompt.`]
}

/** The receiver's data for an agent's settings. */
export interface Receiver {
  readonly port: number
  readonly token: string
  /** Only for an agent that supports guards. */
  readonly guards?: Guards
  /** The folder of the installed hookspan. */
  readonly folder: string
  /** The file with the process id of the receiver. */
  readonly pidFile: string
}

/** The form of hooks in an agent's settings, below `hooks` in a JSON file. */
export interface HookSettings {
  readonly title: string
  /** Our hooks by event. */
  hooksOf(receiver: Receiver): ReadonlyMap<string, readonly object[]>
  isOurs(hook: object): boolean
  /** The guard mode of one of our hooks. Undefined if the agent does not support guards. */
  guardsOf?(hook: object): Guards
  /** @throws Error in one line if the agent would run none of the hooks */
  check(root: unknown, receiver: Receiver): void
}

/** The changes that enable all hooks; empty if nothing is missing. @throws Error in one line */
export function enabling(settings: HookSettings, root: unknown, receiver: Receiver): JsonChange[] {
  settings.check(root, receiver)
  return changes(settings, root, settings.hooksOf(receiver))
}

/** The changes that remove only our hooks. @throws Error in one line */
export function disabling(settings: HookSettings, root: unknown): JsonChange[] {
  return changes(settings, root, new Map())
}

/** The port used by our existing hooks. */
export function portIn(settings: HookSettings, root: unknown): number | undefined {
  for (const hook of ourHooks(settings, root)) {
    const { url } = hook as { url?: unknown }
    if (typeof url === 'string') return Number(new URL(url).port)
  }
  return undefined
}

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

/** True if the list of allowed URLs matches this one; `*` matches anything. */
export function allows(list: unknown, url: string): boolean {
  return !Array.isArray(list) || list.some(one => typeof one === 'string' && covers(one, url))
}

function covers(allowed: string, url: string): boolean {
  const pattern = allowed.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(url)
}

/** Changes by event. Our hooks form one group and keep its position; other hooks are unchanged. */
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
  // The user may have added hooks to our group.
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

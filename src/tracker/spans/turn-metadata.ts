import type { CapturedEntry, SafeText } from '../../content/safe-text.ts'
import { elementsOf, keysOf, peek, textOf } from '../../contract/foreign.ts'
import { AttributeList } from './attribute-list.ts'
import type { AttributeOptions } from './span-definition.ts'

type Entries = ReadonlyMap<SafeText, CapturedEntry['value']>

export interface CapturedMetadata {
  readonly tags: readonly SafeText[]
  readonly metadata: Entries
  readonly attributes: Entries
  readonly userId: SafeText | undefined
}

/** Limit of tags, of metadata and of attributes each: they are written on every span of a turn. */
const ENTRIES_LIMIT = 32
const TAGS_LOOKED_AT = 1000

function overfull(field: string): string {
  return `${field}: there are more than ${ENTRIES_LIMIT}; the others are left out`
}

function distinct(tags: readonly (SafeText | undefined)[], { warnOnce }: AttributeOptions): readonly SafeText[] {
  const all = [...new Set(tags)].filter(tag => tag !== undefined)
  if (all.length > ENTRIES_LIMIT) warnOnce(overfull('tags'))
  return all.slice(0, ENTRIES_LIMIT)
}

/** Captures a flat map from the host or the user. `mayBe` returns false for a name that cannot be written. */
function readEntries(
  field: string,
  map: unknown,
  { capture, warnOnce }: AttributeOptions,
  mayBe: (name: string) => boolean = () => true,
): Entries {
  const entries = new Map<SafeText, CapturedEntry['value']>()
  for (const key of keysOf(map, Number.MAX_SAFE_INTEGER)) {
    if (entries.size === ENTRIES_LIMIT) {
      warnOnce(overfull(field))
      break
    }
    const value = peek(map, key)
    if (value == null) continue
    const entry = capture.entry(key, value)
    const name = entry?.name ?? capture.id(key)
    // A rejected text is not reported: it is empty, or is no identifier in a mode that allows only identifiers.
    if (entry === undefined && name !== undefined && typeof value !== 'string')
      warnOnce(`${field}: ${name} is neither text, a number nor a boolean; it is left out`)
    if (entry === undefined) continue
    if (mayBe(entry.name)) entries.set(entry.name, entry.value)
    else warnOnce(`${field}: ${entry.name} is a name that hookspan writes itself; it is left out, choose another`)
  }
  return entries
}

export function readAttributes(field: string, map: unknown, options: AttributeOptions): Entries {
  return readEntries(field, map, options, name => !options.isOurs(name))
}

export function readMetadata(payload: unknown, options: AttributeOptions): CapturedMetadata | undefined {
  const tags = peek(payload, 'tags')
  const metadata = peek(payload, 'metadata')
  const attributes = peek(payload, 'attributes')
  const user = peek(payload, 'user_id')
  if (tags == null && metadata == null && attributes == null && user == null) return undefined
  const { capture } = options
  const listed = elementsOf(tags, TAGS_LOOKED_AT).map(tag => capture.id(tag))
  // A user id is not content, but it is not expected where all content is switched off.
  const mayNameUser = capture.mode !== 'off' || capture.senderId
  return {
    tags: distinct(listed, options),
    metadata: readEntries('metadata', metadata, options),
    attributes: readAttributes('attributes', attributes, options),
    userId: mayNameUser ? capture.id(user) : undefined,
  }
}

/** The home directory of a user, whose name would be that of the user. */
const HOME = /^(?:\/home|\/Users|[A-Za-z]:\\Users)[\\/][^\\/]+$/

export function workspaceAttributes(payload: unknown, options: AttributeOptions): AttributeList {
  const { facts, capture, workspaceCapture } = options
  const list = new AttributeList()
  if (workspaceCapture === 'off' || capture.mode === 'off') return list
  const cwd = textOf(peek(payload, 'cwd'))?.replace(/(?<=.)[\\/]+$/, '')
  const directory = workspaceCapture === 'path' ? cwd : cwd && (HOME.test(cwd) ? '~' : lastPart(cwd))
  return list
    .set(facts.workspaceDirectory, capture.id(directory))
    .set(facts.repositoryName, capture.id(lastPart(textOf(peek(payload, 'repository')))?.replace(/\.git$/, '')))
    .set(facts.branchName, capture.id(peek(payload, 'branch')))
}

/** `/srv/shop` and `git@host:owner/shop` -> `shop`; `/` stays. */
function lastPart(text: string | undefined): string | undefined {
  return text?.split(/[\\/:]/).findLast(part => part !== '') ?? text
}

/** Merges metadata: adds up tags. For entries of the same name and for the user, the later value wins. */
export function mergeMetadata(
  before: CapturedMetadata | undefined,
  later: CapturedMetadata | undefined,
  options: AttributeOptions,
): CapturedMetadata | undefined {
  if (before === undefined || later === undefined) return later ?? before
  return {
    tags: distinct([...before.tags, ...later.tags], options),
    metadata: mergeEntries('metadata', before.metadata, later.metadata, options),
    attributes: mergeEntries('attributes', before.attributes, later.attributes, options),
    userId: later.userId ?? before.userId,
  }
}

function mergeEntries(field: string, before: Entries, later: Entries, { warnOnce }: AttributeOptions): Entries {
  const entries = new Map([...before, ...later])
  if (entries.size <= ENTRIES_LIMIT) return entries
  warnOnce(overfull(field))
  return new Map([...entries].slice(0, ENTRIES_LIMIT))
}

export function metadataAttributes(given: CapturedMetadata, { facts, capture }: AttributeOptions): AttributeList {
  const { tags, metadata, attributes, userId } = given
  const list = new AttributeList().set(facts.userId, userId)
  if (tags.length > 0) list.set(facts.tags, tags)
  if (metadata.size > 0) list.set(facts.metadata, capture.json(Object.fromEntries(metadata)))
  for (const prefix of facts.traceMetadata) {
    for (const [name, value] of metadata) list.setNamed(`${prefix}.${name}`, value)
  }
  for (const [name, value] of attributes) list.setNamed(name, value)
  return list
}

import type { CapturedEntry, SafeText } from '../../content/capture.ts'
import { elementsOf, keysOf, peek } from '../../contract/foreign.ts'
import { DISCARDED } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import type { AttributeOptions } from './span-definition.ts'

type Entries = ReadonlyMap<SafeText, CapturedEntry['value']>

/** The metadata of a turn, captured and ready to be written. */
export interface Belonging {
  readonly tags: readonly SafeText[]
  readonly metadata: Entries
  readonly attributes: Entries
  readonly userId: SafeText | undefined
}

/** Reports a line to the user. The same line recurs with each record. */
export type Complain = (line: string) => void

/** Limit of tags, of metadata and of attributes each: they are written on every span of a turn. */
const ENTRIES_LIMIT = 32
/** Limit of list elements that are searched for tags. */
const TAGS_LOOKED_AT = 1000

function overfull(field: string): string {
  return `${field}: there are more than ${ENTRIES_LIMIT}; the others are left out`
}

function distinct(tags: readonly (SafeText | undefined)[], complain: Complain): readonly SafeText[] {
  const all = [...new Set(tags)].filter(tag => tag !== undefined)
  if (all.length > ENTRIES_LIMIT) complain(overfull('tags'))
  return all.slice(0, ENTRIES_LIMIT)
}

/**
 * Captures a flat map from the host or the user.
 *
 * @param mayBe returns false for a name that cannot be written
 */
function readEntries(
  field: string,
  map: unknown,
  { capture }: AttributeOptions,
  complain: Complain,
  mayBe: (name: string) => boolean = () => true,
): Entries {
  const entries = new Map<SafeText, CapturedEntry['value']>()
  for (const key of keysOf(map, Number.MAX_SAFE_INTEGER)) {
    if (entries.size === ENTRIES_LIMIT) {
      complain(overfull(field))
      break
    }
    const value = peek(map, key)
    if (value == null) continue
    const entry = capture.entry(key, value)
    if (entry === undefined) complainOf(field, capture.id(key), value, complain)
    else if (mayBe(entry.name)) entries.set(entry.name, entry.value)
    else complain(`${field}: ${entry.name} is a name that hookspan writes itself; it is left out, choose another`)
  }
  return entries
}

/** A rejected text is not reported: it is empty, or is no identifier in a mode that allows only identifiers. */
function complainOf(field: string, name: SafeText | undefined, value: unknown, complain: Complain): void {
  if (name === undefined || typeof value === 'string') return
  complain(`${field}: ${name} is neither text, a number nor a boolean; it is left out`)
}

/** Custom attributes, which must not replace those of hookspan. */
export function readAttributes(field: string, map: unknown, draw: AttributeOptions, complain: Complain): Entries {
  return readEntries(field, map, draw, complain, name => !draw.names.isOurs(name))
}

/** The turn metadata of a record; undefined if it has none, which is the usual case. */
export function readBelonging(payload: unknown, draw: AttributeOptions, complain: Complain): Belonging | undefined {
  const tags = peek(payload, 'tags')
  const metadata = peek(payload, 'metadata')
  const attributes = peek(payload, 'attributes')
  const user = peek(payload, 'user_id')
  if (tags == null && metadata == null && attributes == null && user == null) return undefined
  const { capture } = draw
  const listed = elementsOf(tags, TAGS_LOOKED_AT).map(tag => capture.id(tag))
  // A user id is not content, but it is not expected where all content is switched off.
  const mayNameUser = capture.mode !== 'off' || capture.senderId
  return {
    tags: distinct(listed, complain),
    metadata: readEntries('metadata', metadata, draw, complain),
    attributes: readAttributes('attributes', attributes, draw, complain),
    userId: mayNameUser ? capture.id(user) : undefined,
  }
}

/** Merges metadata: adds up tags. For entries of the same name and for the user, the later value wins. */
export function joined(
  before: Belonging | undefined,
  later: Belonging | undefined,
  complain: Complain,
): Belonging | undefined {
  if (before === undefined || later === undefined) return later ?? before
  return {
    tags: distinct([...before.tags, ...later.tags], complain),
    metadata: both('metadata', before.metadata, later.metadata, complain),
    attributes: both('attributes', before.attributes, later.attributes, complain),
    userId: later.userId ?? before.userId,
  }
}

function both(field: string, before: Entries, later: Entries, complain: Complain): Entries {
  const entries = new Map([...before, ...later])
  if (entries.size <= ENTRIES_LIMIT) return entries
  complain(overfull(field))
  return new Map([...entries].slice(0, ENTRIES_LIMIT))
}

export function belongingAttributes(
  { tags, metadata, attributes, userId }: Belonging,
  { names, capture }: AttributeOptions,
): AttributeList {
  const { general, inference, langfuse } = names
  const list = new AttributeList().set(general.userId, userId)
  if (tags.length > 0) list.set(inference.tags, tags).set(langfuse.traceTags, tags)
  if (metadata.size > 0) list.set(inference.metadata, capture.json(Object.fromEntries(metadata)))
  if (langfuse.traceMetadata !== DISCARDED) {
    for (const [name, value] of metadata) list.set(`${langfuse.traceMetadata}.${name}`, value)
  }
  for (const [name, value] of attributes) list.set(name, value)
  return list
}

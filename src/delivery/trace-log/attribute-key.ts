import { stringJson } from './json-bytes.ts'

const MAX_KEYS = 2000
/** Maximum length of a cached key or value: content must not stay in memory. */
export const MAX_KNOWN_CHARS = 128
const NOTHING = Symbol('nothing')

/** The JSON of an attribute's key. The spans of a process share most of their keys, and many values with the previous span. */
export interface AttributeKey {
  readonly name: string
  readonly head: Buffer
  readonly textHead: Buffer
  value: unknown
  /** The JSON of key and value, once `value` has occurred twice in a row. */
  pair: Buffer | undefined
}

const keys = new Map<string, AttributeKey>()

/** Returns the one key of a name, or undefined if the name is not cached. */
export function cachedKey(name: string): AttributeKey | undefined {
  return keys.get(name)
}

/** Keys are never evicted, so that a cached key identifies its name. When the cache is full, keys are not cached. */
export function createKey(name: string): AttributeKey {
  const head = `{"key":${stringJson(name)},"value":`
  const textHead = Buffer.from(`${head}{"stringValue":`)
  const key = { name, head: Buffer.from(head), textHead, value: NOTHING, pair: undefined }
  if (keys.size < MAX_KEYS && name.length <= MAX_KNOWN_CHARS) keys.set(name, key)
  return key
}

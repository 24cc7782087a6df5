import { type Clipped, clip, keepAll, redactWithin, WINDOW_MARGIN } from './clip.ts'
import { type BoundedJson, JsonWriter } from './json-writer.ts'
import { isSecretKey } from './secret-keys.ts'
import { type Masking, Neighbours } from './secret-neighbours.ts'
import { acrossStrings } from './secret-private-keys.ts'
import { isSecretMember } from './secret-records.ts'
import { MASK } from './secret-span.ts'
import { namesNoSecret } from './secret-values.ts'

/**
 * JSON of a foreign value. Its getters, Proxy traps and `toJSON` can throw at any step, and one failure must not cost the rest
 * of the value. Besides `tracker/guard.ts` and `contract/foreign.ts`, this is the only place on the hot path that may catch.
 */

const MAX_DEPTH = 32
/** Limits an object's keys, which the engine lists completely before it returns the first. */
const MAX_KEYS = 10_000
/** Limits the characters read for each character that may be written: masked text is shorter than the original. */
const READS_PER_CHARACTER = 8
const MAX_KEY_CHARS = 200
/** A key can be a secret, too. Our own patterns recognize none that is shorter. */
const MIN_SECRET_KEY_TEXT = 16
const MAX_BIGINT = 2n ** 512n

/** Decimal digits. A huge value is shown as `[BigInt]`, because its conversion takes more than linear time. */
export function numberText(value: number | bigint): string {
  return typeof value === 'number' || (value < MAX_BIGINT && value > -MAX_BIGINT) ? String(value) : '[BigInt]'
}

/** Cached, because several spans show the same value, and listing millions of keys takes a second. */
const firstKeysOfWide = new WeakMap<object, readonly string[]>()

function firstKeys(object: object): readonly string[] {
  const known = firstKeysOfWide.get(object)
  if (known !== undefined) return known
  const keys = Object.keys(object)
  if (keys.length <= MAX_KEYS) return keys
  const first = keys.slice(0, MAX_KEYS)
  firstKeysOfWide.set(object, first)
  return first
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

/** An absent value or a boolean reveals no secret, and is often what the reader looks for. */
function hidesNothing(value: unknown): boolean {
  if (typeof value === 'string') return namesNoSecret(value)
  return value === null || typeof value === 'boolean' || isEmpty(value)
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  try {
    const prototype: unknown = Object.getPrototypeOf(value)
    return (prototype === Object.prototype || prototype === Array.prototype) && firstKeys(value).length === 0
  } catch {
    return false
  }
}

class ValueWalk {
  readonly writer: JsonWriter
  readonly #masking: Masking
  readonly #ancestors: object[] = []
  /** Counted separately: properties that write nothing use no room. */
  #visitsLeft: number
  #readsLeft: number

  constructor(maxChars: number, masking: Masking, encode?: (text: string) => string) {
    this.writer = new JsonWriter(maxChars, encode)
    this.#masking = masking.leaf === keepAll ? masking : { ...masking, leaf: acrossStrings(masking.leaf) }
    this.#visitsLeft = maxChars
    this.#readsLeft = READS_PER_CHARACTER * (maxChars + WINDOW_MARGIN)
  }

  /** Returns false if no text was written: there is no room, or JSON has no form for the value. */
  value(lead: string, value: unknown): boolean {
    switch (typeof value) {
      case 'string':
        return this.#string(lead, value)
      case 'number':
        return this.writer.scalar(lead, Number.isFinite(value) ? String(value) : 'null')
      case 'boolean':
        return this.writer.scalar(lead, String(value))
      case 'bigint':
        return this.writer.scalar(lead, `"${numberText(value)}"`)
      case 'object':
        return value === null ? this.writer.scalar(lead, 'null') : this.#object(lead, value)
      default:
        return false
    }
  }

  #string(lead: string, text: string, leaf = this.#masking.leaf): boolean {
    return this.writer.string(lead, this.#redacted(text, this.writer.room - lead.length, leaf))
  }

  #redacted(text: string, room: number, leaf = this.#masking.leaf): Clipped {
    this.#readsLeft -= Math.min(text.length, Math.max(room, 0) + WINDOW_MARGIN)
    return redactWithin({ text, isCut: false }, room, leaf)
  }

  #object(lead: string, object: object): boolean {
    if (this.#ancestors.includes(object)) return this.writer.scalar(lead, '"[Circular]"')
    if (this.#ancestors.length >= MAX_DEPTH) {
      this.writer.isTruncated = true
      return this.writer.scalar(lead, '"[Too deep]"')
    }
    const mark = this.writer.mark()
    this.#ancestors.push(object)
    try {
      return this.#foreign(lead, object)
    } catch {
      this.writer.restore(mark)
      return this.writer.scalar(lead, '"[Unreadable]"')
    } finally {
      this.#ancestors.pop()
    }
  }

  #foreign(lead: string, object: object): boolean {
    if (Array.isArray(object)) return this.#array(lead, object)
    if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer) {
      return this.writer.scalar(lead, `"<${object.byteLength} bytes>"`)
    }
    const { toJSON } = object as { toJSON?: unknown }
    if (typeof toJSON === 'function') {
      const replaced: unknown = toJSON.call(object, '')
      if (replaced !== object) return this.value(lead, isWritable(replaced) ? replaced : null)
    }
    if (object instanceof Error) {
      const named = ['name', 'message'].map(key => [key, read(object, key)] as const)
      return this.#entries(lead, named)
    }
    if (object instanceof Map) return this.#entries(lead, mapEntries(object))
    if (object instanceof Set) return this.#array(lead, object)
    if (object instanceof String || object instanceof Number || object instanceof Boolean) {
      return this.value(lead, object.valueOf())
    }
    return this.#entries(lead, this.#ownEntries(object), object)
  }

  #array(lead: string, elements: Iterable<unknown>): boolean {
    if (!this.writer.open(lead, '[')) return false
    const neighbours = new Neighbours()
    let comma = ''
    for (const element of this.#elements(elements)) {
      if (this.#isSpent()) break
      if (!this.#element(comma, element, neighbours)) break
      comma = ','
    }
    this.writer.close(']')
    return true
  }

  #element(comma: string, element: unknown, neighbours: Neighbours): boolean {
    if (typeof element !== 'string') return this.value(comma, isWritable(element) ? element : null)
    return this.#string(comma, element, neighbours.leafOf(this.#masking))
  }

  /** Reads by index where possible: an element that throws costs only itself. */
  *#elements(elements: Iterable<unknown>): Iterable<unknown> {
    if (!Array.isArray(elements)) {
      yield* elements
      return
    }
    for (let index = 0; index < elements.length; index++) yield read(elements, index)
  }

  *#ownEntries(object: object): Iterable<readonly [string, unknown]> {
    const keys = firstKeys(object)
    for (const key of keys) {
      if (this.#isSpent()) return
      yield [key, read(object, key)]
    }
    if (firstKeysOfWide.has(object)) this.writer.stop()
  }

  #entries(lead: string, entries: Iterable<readonly [string, unknown]>, object?: object): boolean {
    if (!this.writer.open(lead, '{')) return false
    const neighbours = new Neighbours()
    let comma = ''
    for (const [key, value] of entries) {
      if (this.#isSpent()) break
      if (!isWritable(value)) continue
      if (!this.#property(comma, key, value, neighbours, object)) break
      comma = ','
    }
    this.writer.close('}')
    return true
  }

  #property(comma: string, key: string, value: unknown, neighbours: Neighbours, object?: object): boolean {
    const lead = `${comma}${JSON.stringify(this.#key(key))}:`
    if (typeof value === 'string') neighbours.field(key, value, this.#masking)
    if (this.#isSecret(key, value, neighbours, object) && !hidesNothing(value))
      return this.writer.scalar(lead, `"${MASK}"`)
    return this.value(lead, value)
  }

  #isSecret(key: string, value: unknown, neighbours: Neighbours, object: object | undefined): boolean {
    const { leaf, isSecret } = this.#masking
    if (isSecret(key) || neighbours.isSecretField(key)) return true
    return object !== undefined && leaf !== keepAll && isSecretMember(key, value, sibling => read(object, sibling))
  }

  #key(key: string): string {
    if (key.length < MIN_SECRET_KEY_TEXT && !this.#masking.readsShortKeys) return key
    return clip(this.#redacted(key, MAX_KEY_CHARS), MAX_KEY_CHARS).text
  }

  #isSpent(): boolean {
    if (this.writer.isFull) return true
    if (--this.#visitsLeft >= 0 && this.#readsLeft > 0) return false
    this.writer.stop()
    return true
  }
}

/** Distinguishes a getter that throws from an absent property. */
function read(object: object, key: string | number): unknown {
  try {
    return (object as Record<string | number, unknown>)[key]
  } catch {
    return '[Unreadable]'
  }
}

function* mapEntries(map: Map<unknown, unknown>): Iterable<readonly [string, unknown]> {
  for (const [key, value] of map) yield [typeof key === 'object' ? '[Object]' : String(key), value]
}

/**
 * JSON of any value in at most `maxChars` characters, valid even after a cut: strings end with `...`, containers are closed.
 * Cost is linear in `maxChars`, whatever the value. Strings pass through `leaf`. Values under keys that match `isSecret` are
 * masked. `encode` is `JSON.stringify` or a memo of it. Undefined if JSON has no form for the value, or if not even `""` fits.
 */
export function boundedJson(
  value: unknown,
  maxChars: number,
  leaf: (text: string) => string,
  isSecret: (key: string) => boolean = isSecretKey,
  readsShortKeys = false,
  encode?: (text: string) => string,
): BoundedJson | undefined {
  const walk = new ValueWalk(maxChars, { leaf, isSecret, readsShortKeys }, encode)
  if (walk.value('', value)) return { text: walk.writer.text, truncated: walk.writer.isTruncated }
  return isWritable(value) && maxChars >= 2 ? { text: '""', truncated: true } : undefined
}

import { type Clipped, clip, redactWithin } from './clip.ts'
import { JsonWriter } from './json-writer.ts'
import { isSecretKey } from './secret-keys.ts'
import { MASK } from './secret-span.ts'

export { closeJson } from './json-text.ts'

/**
 * JSON of a value that belongs to somebody else. Its getters, Proxy traps and `toJSON` can throw at any step, and one
 * of them must not cost the rest of the value: besides `core/guard.ts` and `contract/foreign.ts`, this is the place on the hot
 * path that may catch.
 */

export interface BoundedJson {
  readonly text: string
  readonly truncated: boolean
}

const MAX_DEPTH = 32
const MAX_KEY_CHARS = 200
/** A key can be a secret, too; below this none is recognised. */
const SHORTEST_SECRET_KEY_TEXT = 16
const MAX_BIGINT = 2n ** 512n

/** Decimal digits; the text of a huge one costs more than linear time, so that only says what it is. */
export function bigintText(value: bigint): string {
  return value < MAX_BIGINT && value > -MAX_BIGINT ? String(value) : '[BigInt]'
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

/** An absent value, a yes or a no gives nothing away, and is often what one is looking for. */
function hidesNothing(value: unknown): boolean {
  return value === null || typeof value === 'boolean' || value === ''
}

class ValueWalk {
  readonly writer: JsonWriter
  readonly #leaf: (text: string) => string
  readonly #isSecret: (key: string) => boolean
  readonly #ancestors: object[] = []
  /** Properties that write nothing cost no room, so they are counted on their own. */
  #visitsLeft: number

  constructor(maxChars: number, leaf: (text: string) => string, isSecret: (key: string) => boolean) {
    this.writer = new JsonWriter(maxChars)
    this.#leaf = leaf
    this.#isSecret = isSecret
    this.#visitsLeft = maxChars
  }

  /** False when nothing was written: there is no room, or JSON has no form for the value. */
  value(lead: string, value: unknown): boolean {
    switch (typeof value) {
      case 'string':
        return this.#string(lead, value)
      case 'number':
        return this.writer.scalar(lead, Number.isFinite(value) ? String(value) : 'null')
      case 'boolean':
        return this.writer.scalar(lead, String(value))
      case 'bigint':
        return this.writer.scalar(lead, `"${bigintText(value)}"`)
      case 'object':
        return value === null ? this.writer.scalar(lead, 'null') : this.#object(lead, value)
      default:
        return false
    }
  }

  #string(lead: string, text: string): boolean {
    return this.writer.string(lead, this.#redacted(text, this.writer.room - lead.length))
  }

  #redacted(text: string, room: number): Clipped {
    return redactWithin({ text, isCut: false }, room, this.#leaf)
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
    if (object instanceof Error) return this.#entries(lead, errorEntries(object))
    if (object instanceof Map) return this.#entries(lead, mapEntries(object))
    if (object instanceof Set) return this.#array(lead, object)
    if (object instanceof String || object instanceof Number || object instanceof Boolean) {
      return this.value(lead, object.valueOf())
    }
    return this.#entries(lead, this.#ownEntries(object))
  }

  #array(lead: string, elements: Iterable<unknown>): boolean {
    if (!this.writer.open(lead, '[')) return false
    let comma = ''
    for (const element of this.#elements(elements)) {
      if (this.#isSpent()) break
      if (!this.value(comma, isWritable(element) ? element : null)) break
      comma = ','
    }
    this.writer.close(']')
    return true
  }

  /** By index where there is one: a single element that throws when it is read costs only itself. */
  *#elements(elements: Iterable<unknown>): Iterable<unknown> {
    if (!Array.isArray(elements)) {
      yield* elements
      return
    }
    for (let index = 0; index < elements.length; index++) yield read(elements, index)
  }

  *#ownEntries(object: object): Iterable<readonly [string, unknown]> {
    // for…in, not Object.entries: it can be left after the first keys of a million.
    for (const key in object) {
      if (this.#isSpent()) return
      if (Object.hasOwn(object, key)) yield [key, read(object, key)]
    }
  }

  #entries(lead: string, entries: Iterable<readonly [string, unknown]>): boolean {
    if (!this.writer.open(lead, '{')) return false
    let comma = ''
    for (const [key, value] of entries) {
      if (this.#isSpent()) break
      if (!isWritable(value)) continue
      if (!this.#property(comma, key, value)) break
      comma = ','
    }
    this.writer.close('}')
    return true
  }

  #property(comma: string, key: string, value: unknown): boolean {
    const lead = `${comma}${JSON.stringify(this.#key(key))}:`
    if (!hidesNothing(value) && this.#isSecret(key)) return this.writer.scalar(lead, `"${MASK}"`)
    return this.value(lead, value)
  }

  #key(key: string): string {
    if (key.length < SHORTEST_SECRET_KEY_TEXT) return key
    return clip(this.#redacted(key, MAX_KEY_CHARS), MAX_KEY_CHARS).text
  }

  #isSpent(): boolean {
    if (this.writer.isFull) return true
    if (--this.#visitsLeft >= 0) return false
    this.writer.stop()
    return true
  }
}

/** A property whose getter throws is told apart from one that is absent. */
function read(object: object, key: string | number): unknown {
  try {
    return (object as Record<string | number, unknown>)[key]
  } catch {
    return '[Unreadable]'
  }
}

function* errorEntries(error: Error): Iterable<readonly [string, unknown]> {
  yield ['name', read(error, 'name')]
  yield ['message', read(error, 'message')]
}

function* mapEntries(map: Map<unknown, unknown>): Iterable<readonly [string, unknown]> {
  for (const [key, value] of map) yield [typeof key === 'object' ? '[Object]' : String(key), value]
}

/**
 * JSON of any value in at most `maxChars` characters, valid also after a cut: strings end with `...`, containers are
 * closed. Cost is linear in `maxChars`, whatever the value. Strings pass through `leaf`; values under keys for which
 * `isSecret` holds are masked. Undefined when JSON has no form for the value, as with `JSON.stringify`, or when not
 * even `""` fits.
 */
export function boundedJson(
  value: unknown,
  maxChars: number,
  leaf: (text: string) => string,
  isSecret: (key: string) => boolean = isSecretKey,
): BoundedJson | undefined {
  const walk = new ValueWalk(maxChars, leaf, isSecret)
  if (walk.value('', value)) return { text: walk.writer.text, truncated: walk.writer.isTruncated }
  return isWritable(value) && maxChars >= 2 ? { text: '""', truncated: true } : undefined
}

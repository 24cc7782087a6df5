import { elementsOf, idOf, ownValue } from '../contract/foreign.ts'
import type { HookMeta } from '../contract/index.ts'

/** Limits the objects, elements and fields of one record. Building attributes inline is cheaper than copying more. */
const MAX_PARTS = 500
/** The same limit if whole conversations are recorded. */
const MAX_PARTS_IN_FULL = 5000
const DEEPEST = 16
/** Estimated memory of a part, beside its characters. */
const PART_CHARS = 32

/** Fields with whole conversations, which are read only in `full` mode. */
const CONTENT = new Set(['request_messages', 'messages', 'system_prompt'])
/** Exchanges between agent and model. Only their plain fields are read in other modes. */
const EXCHANGES = new Set(['request', 'response'])
/** Objects in an exchange that are read in every mode. */
const READ_INSIDE = new Set(['stop', 'stop_sequences', 'reasoning', 'output_config'])
/** Messages of an answer. The ids of their tool calls are read in every mode. */
const MESSAGES = new Set(['assistant_message', 'message'])
const MAX_TOOLS = 10_000
/** An answer usually asks for a few. */
const MAX_CALLS = 100

const NO_FIELDS = Object.freeze({})
const NO_ELEMENTS: readonly unknown[] = Object.freeze([])

type Fields = Record<string, unknown>

export interface Reading {
  readonly isFull: boolean
  readonly conversationHistory: boolean
}

/** A copy of a record, queued while its host goes on with the original. */
export interface RecordCopy {
  readonly payload: unknown
  readonly meta: HookMeta | undefined
  /** Approximate memory in characters. Strings are shared with the original, because they cannot change. */
  readonly chars: number
}

class NotPlain extends Error {}

/**
 * Copies records, so that later changes by their host have no effect. Returns undefined if the copy might read differently or
 * costs too much: not plain data, too large, too deep.
 */
export class RecordCopier {
  readonly #reading: Reading
  readonly #mostParts: number
  #partsLeft = 0
  #chars = 0

  constructor(reading: Reading) {
    this.#reading = reading
    this.#mostParts = reading.isFull ? MAX_PARTS_IN_FULL : MAX_PARTS
  }

  copyOf(payload: unknown, meta: HookMeta | undefined): RecordCopy | undefined {
    this.#partsLeft = this.#mostParts
    this.#chars = 0
    // A getter or a Proxy may throw at every step. The record is then processed inline, by code that handles it.
    try {
      const copy = this.#payload(payload)
      const copiedMeta = meta && this.#meta(meta)
      return { payload: copy, meta: copiedMeta, chars: this.#chars + PART_CHARS * (this.#mostParts - this.#partsLeft) }
    } catch {
      return undefined
    }
  }

  #meta({ at, host, delivery_id, correlation }: HookMeta): HookMeta {
    this.#plain(at)
    this.#plain(host)
    this.#plain(delivery_id)
    this.#plain(correlation)
    return { at, host, delivery_id, correlation }
  }

  #plain(value: unknown): void {
    if (typeof value === 'string') this.#chars += value.length
    else if (value !== undefined && typeof value !== 'number') throw new NotPlain()
  }

  #payload(payload: unknown): unknown {
    if (payload === undefined) return undefined
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) throw new NotPlain()
    return this.#fields(payload, this.#field)
  }

  readonly #field = (value: object, name: string): unknown => {
    const { isFull, conversationHistory } = this.#reading
    if (name === 'conversation_history' && !conversationHistory) return unread(value)
    if (!isFull && CONTENT.has(name)) return unread(value)
    return !isFull && EXCHANGES.has(name) ? this.#exchange(value) : this.#object(value, name, 1)
  }

  #exchange(exchange: object): unknown {
    return Array.isArray(exchange) ? this.#list(exchange, 1) : this.#fields(exchange, this.#inside)
  }

  readonly #inside = (value: object, name: string): unknown => {
    if (READ_INSIDE.has(name)) return this.#object(value, name, 2)
    if (name === 'body') return this.#exchange(value)
    if (MESSAGES.has(name)) {
      return {
        tool_calls: this.#idsIn(ownValue(value, 'tool_calls')),
        content: this.#idsIn(ownValue(value, 'content')),
      }
    }
    // Only their number is read.
    if (name === 'tools' && Array.isArray(value) && value.length <= MAX_TOOLS) return new Array(value.length)
    return unread(value)
  }

  #idsIn(list: unknown): unknown {
    return elementsOf(list, MAX_CALLS).map(part => {
      const id = idOf(ownValue(part, 'id'))
      this.#chars += id?.length ?? 0
      return { id }
    })
  }

  readonly #object = (value: object, _name: string, depth: number): unknown => {
    if (depth > DEEPEST) throw new NotPlain()
    return Array.isArray(value) ? this.#list(value, depth) : this.#fields(value, this.#object, depth + 1)
  }

  #fields(object: object, copied: (value: object, name: string, depth: number) => unknown, depth = 1): Fields {
    const prototype: unknown = Object.getPrototypeOf(object)
    if (prototype !== Object.prototype && prototype !== null) throw new NotPlain()
    const copy: Fields = {}
    let count = 0
    for (const name in object) {
      if (++count > this.#partsLeft || name === '__proto__' || name === 'toJSON') throw new NotPlain()
      const value = (object as Fields)[name]
      if (typeof value === 'string') this.#chars += value.length
      copy[name] = typeof value === 'object' && value !== null ? copied(value, name, depth) : value
    }
    this.#partsLeft -= count
    // The object has hidden properties, or inherited ones.
    if (Object.getOwnPropertyNames(object).length !== count) throw new NotPlain()
    return copy
  }

  #list(list: readonly unknown[], depth: number): unknown[] {
    this.#partsLeft -= list.length
    if (this.#partsLeft < 0 || Object.getPrototypeOf(list) !== Array.prototype) throw new NotPlain()
    const copy = list.slice()
    for (let at = 0; at < copy.length; at++) {
      const element = copy[at]
      if (typeof element === 'string') this.#chars += element.length
      else if (typeof element === 'object' && element !== null) copy[at] = this.#object(element, '', depth + 1)
    }
    return copy
  }
}

/** An empty placeholder of the same kind, because only the kind is read. */
function unread(value: object): unknown {
  return Array.isArray(value) ? NO_ELEMENTS : NO_FIELDS
}

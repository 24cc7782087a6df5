import { eachField, isArray, numberOf, peek } from '../contract/foreign.ts'
import { HOOK_NAMES, type HookName, isIgnoredHook } from '../contract/index.ts'
import type { CoreOptions, FieldKind } from './options.ts'
import { isUnknownStatus, TOOL_OUTCOMES } from './spans/tool.ts'
import { isUnreadableUsage } from './spans/usage.ts'
import type { UnreadStats } from './stats.ts'

/** The classification of a field name: the type it should have, `other` for an unrelated name, or `slip` for a probable typo. */
type FieldClass = FieldKind | 'other' | 'slip'

type Classes = Map<string, FieldClass>
type Payload = Readonly<Record<string, unknown>>

/** A program repeats its mistakes. So many records of each hook are checked, and then every sixteenth. */
const RECORDS_LIMIT = 100
const EVERY = 16

const LINES_LIMIT = 100
/**
 * No hook has so many fields, and no known name is nearly so long. A larger payload is not checked: listing its names costs
 * more than reading the known ones.
 */
const NAMES_LIMIT = 200
const NAME_LIMIT = 100

const SHOULD_BE = { text: 'text', number: 'a number', boolean: 'true or false', list: 'a list' }

export class PayloadLinter {
  readonly #options: CoreOptions
  /** Masks a host's name before it is written. */
  readonly #clean: (name: unknown) => string
  readonly #hooks = new Map<HookName, { records: number; readonly classes: Classes }>()
  readonly #reported = new Set<string>()
  readonly #stats = { hooks: 0, fields: 0, types: 0 }

  constructor(options: CoreOptions, clean: (name: unknown) => string) {
    this.#options = options
    this.#clean = clean
  }

  get stats(): UnreadStats {
    return { ...this.#stats }
  }

  /** Reports an unknown hook. A name of an adapter (`pi:event`) is an event of a newer agent and not a mistake. */
  checkHookName(name: unknown): void {
    if (typeof name === 'string' && (name.includes(':') || isIgnoredHook(name))) return
    this.#stats.hooks += 1
    const key = typeof name === 'string' ? name.slice(0, NAME_LIMIT) : ''
    const meant = this.#isNew(key) ? this.#options.nearestName(key, HOOK_NAMES) : undefined
    this.#warnOnce(key, () => `there is no hook ${this.#clean(name)}, so it is ignored${didYouMean(meant)}`)
  }

  checkPayload(hook: HookName, payload: unknown): void {
    let seen = this.#hooks.get(hook)
    if (seen === undefined) {
      seen = { records: 0, classes: new Map<string, FieldClass>(Object.entries(this.#options.payloadFields[hook])) }
      this.#hooks.set(hook, seen)
    }
    seen.records += 1
    // A replay has every record checked, because no agent waits.
    if (this.#options.sweepByClock && seen.records > RECORDS_LIMIT && seen.records % EVERY !== 0) return
    if (typeof payload !== 'object' || isArray(payload)) {
      if (payload !== undefined) this.#mistyped(hook, 'payload', 'an object', payload)
      return
    }
    if (payload === null) return
    this.#checkValues(hook, payload)
    const { classes: verdicts } = seen
    if (verdicts.size > NAMES_LIMIT) return
    eachField(payload, name => this.#checkField(hook, verdicts, payload as Payload, name))
  }

  /** Checks values of the right type that still contain nothing readable. */
  #checkValues(hook: HookName, payload: object): void {
    if (hook === 'post_tool_call') {
      const status = peek(payload, 'status')
      if (!isUnknownStatus(status)) return
      const word = String(status).trim().toLowerCase()
      this.#unreadable(hook, `status ${word}`, () => {
        const meant = didYouMean(this.#options.nearestName(word, [...TOOL_OUTCOMES]))
        return `status ${this.#clean(word)} is unknown, so it is the outcome and no error${meant}`
      })
    } else if (hook === 'post_api_request' || hook === 'post_auxiliary_call') {
      const line = 'no tokens can be read from usage; docs/hooks.md lists the names of its fields'
      if (isUnreadableUsage(peek(payload, 'usage'))) this.#unreadable(hook, 'usage', () => line)
    }
  }

  #checkField(hook: HookName, verdicts: Classes, payload: Payload, name: string): boolean {
    const verdict = verdicts.get(name)
    if (verdict === 'any' || verdict === 'other') return true
    if (verdict === undefined) return this.#classify(hook, verdicts, payload, name)
    if (verdict === 'slip') this.#stats.fields += 1
    else if (!isUsable(verdict, payload[name])) this.#mistyped(hook, name, SHOULD_BE[verdict], payload[name])
    return true
  }

  /** Classifies a field name that is new for this hook. It is no typo if the payload has the similar field, too. */
  #classify(hook: HookName, verdicts: Classes, payload: object, name: string): boolean {
    if (name.length > NAME_LIMIT) return true
    const meant = this.#options.nearestName(name, Object.keys(this.#options.payloadFields[hook]))
    const isSlip = meant !== undefined && !(meant in payload)
    verdicts.set(name, isSlip ? 'slip' : 'other')
    if (isSlip) {
      this.#stats.fields += 1
      this.#warnOnce(
        `${hook} ${name}`,
        () => `${hook}: it has no field ${this.#clean(name)}, so that is not read${didYouMean(meant)}`,
      )
    }
    return verdicts.size <= NAMES_LIMIT
  }

  #mistyped(hook: HookName, name: string, expected: string, value: unknown): void {
    const line = (): string => `${name} should be ${expected} and is ${kindOf(value)}; it counts as missing`
    this.#unreadable(hook, `${name} type`, line)
  }

  #unreadable(hook: HookName, what: string, line: () => string): void {
    this.#stats.types += 1
    this.#warnOnce(`${hook} ${what}`, () => `${hook}: ${line()}`)
  }

  #isNew(key: string): boolean {
    return this.#reported.size < LINES_LIMIT && !this.#reported.has(key)
  }

  #warnOnce(key: string, line: () => string): void {
    if (!this.#isNew(key)) return
    this.#reported.add(key)
    this.#options.report.warn(line())
  }
}

function didYouMean(name: string | undefined): string {
  return name === undefined ? '' : `; did you mean ${name}?`
}

function isUsable(kind: keyof typeof SHOULD_BE, value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  switch (kind) {
    case 'text':
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    case 'number':
      return numberOf(value) !== undefined
    case 'boolean':
      return typeof value === 'boolean'
    case 'list':
      return isArray(value)
  }
}

function kindOf(value: unknown): string {
  if (isArray(value)) return 'a list'
  if (typeof value === 'number') return 'no finite number'
  if (typeof value === 'string') return 'text'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

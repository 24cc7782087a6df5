import { checkPattern } from '../../content/redact-patterns.ts'
import { createRedactor, isSecretKey } from '../../content/redaction.ts'
import { MASK } from '../../content/secret-span.ts'
import { isPlain } from '../frozen-copy.ts'
import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { type Block, block, type Rewrite, rewrite } from '../verdict.ts'
import { cardNumbersIn } from './card-numbers.ts'
import { type BuiltinOptions, checkOptions, listOf, oneOf } from './options.ts'
import { type CompiledPattern, compilePattern, type PatternConfig } from './pattern.ts'

/** The action on a match: mask the match, or withhold the whole text. */
export type FilterAction = 'redact' | 'block' | 'pass'

/** The phases that can be filtered. */
export type FilteredPhase = 'afterModel' | 'afterTool' | 'afterTurn'

/** Options of `contentFilter`. */
export interface ContentFilterOptions extends BuiltinOptions {
  /** Keys, tokens and passwords, found by the detector that keeps them out of traces. Default `redact`. */
  readonly secrets?: FilterAction | undefined
  /** Payment card numbers. Default `redact`. */
  readonly cards?: FilterAction | undefined
  /** Custom patterns. A glob matches a whole text, so it can block but not redact. */
  readonly patterns?: { readonly [A in 'redact' | 'block']?: readonly PatternConfig[] } | undefined
  /** Default: all three. */
  readonly phases?: readonly FilteredPhase[] | undefined
}

const PHASES: readonly FilteredPhase[] = ['afterModel', 'afterTool', 'afterTurn']
const ACTIONS = ['redact', 'block', 'pass'] as const
const DEPTH_LIMIT = 100

type Filter = (text: string, isUnderSecretKey: boolean) => string | undefined

/**
 * Removes secrets, card numbers and custom patterns from model answers, tool results and the final answer. Results are searched
 * at every depth, including values under keys like `password`. Matches are never quoted.
 *
 * If an agent streams its answer, the user has seen it before any hook. Results that are not plain data (class instances,
 * streams) are not searched.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function contentFilter(options: ContentFilterOptions = {}): Hook<'block' | 'rewrite'> {
  checkOptions('contentFilter', options, {
    secrets: oneOf(ACTIONS),
    cards: oneOf(ACTIONS),
    patterns: { means: 'an object with lists: redact, block', is: arePatterns },
    phases: listOf(PHASES),
  })
  const filters = filtersOf(options)
  const phases = new Set(options.phases ?? PHASES)
  const judge = <Value>(value: Value): Block | Rewrite<Value> | undefined => {
    let now: unknown = value
    for (const { what, filter } of filters) {
      const filtered = applyFilter(now, filter)
      if (filtered === WITHHELD) return block(`What came back held ${what} and is kept back.`, { detail: what })
      now = filtered
    }
    return now === value ? undefined : rewrite(now as Value)
  }
  return defineHook({
    name: options.name ?? 'content-filter',
    priority: options.priority ?? PRIORITY.security,
    onFailure: options.onFailure ?? 'block',
    decisions: ['block', 'rewrite'],
    ...(phases.has('afterModel') && { afterModel: ({ text }: { readonly text: string }) => judge(text) }),
    ...(phases.has('afterTool') && { afterTool: ({ result }: { readonly result: unknown }) => judge(result) }),
    ...(phases.has('afterTurn') && { afterTurn: ({ answer }: { readonly answer: string }) => judge(answer) }),
  })
}

interface NamedFilter {
  readonly what: string
  readonly filter: Filter
}

function filtersOf({ secrets = 'redact', cards = 'redact', patterns = {} }: ContentFilterOptions): NamedFilter[] {
  const filters: NamedFilter[] = []
  const blocking = (patterns.block ?? []).map(config => compiled(config, 'block'))
  if (blocking.length > 0)
    filters.push({
      what: 'what a pattern of the person names',
      filter: text => (blocking.some(({ matches }) => matches(text)) ? undefined : text),
    })
  const redact = createRedactor({ enabled: true, patterns: [] })
  if (secrets !== 'pass')
    filters.push({
      what: 'a secret',
      filter: (text, isUnderSecretKey) => {
        const masked = isUnderSecretKey && text !== '' ? MASK : redact(text)
        return masked === text || secrets === 'redact' ? masked : undefined
      },
    })
  if (cards !== 'pass')
    filters.push({
      what: 'the number of a payment card',
      filter: text => {
        const masked = withoutCards(text)
        return masked === text || cards === 'redact' ? masked : undefined
      },
    })
  const redacting = (patterns.redact ?? []).map(redactionOf)
  if (redacting.length > 0)
    filters.push({ what: '', filter: text => redacting.reduce((now, redaction) => redaction(now), text) })
  return filters
}

function withoutCards(text: string): string {
  let masked = ''
  let kept = 0
  for (const { start, end } of cardNumbersIn(text)) {
    masked += text.slice(kept, start) + MASK
    kept = end
  }
  return kept === 0 ? text : masked + text.slice(kept)
}

function compiled(config: PatternConfig, action: string): CompiledPattern & { readonly ok: true } {
  const pattern = compilePattern(config)
  if (!pattern.ok)
    throw new TypeError(`contentFilter: the pattern ${JSON.stringify(config)} cannot ${action}: ${pattern.reason}`)
  return pattern
}

function redactionOf(config: PatternConfig): (text: string) => string {
  compiled(config, 'redact')
  if (typeof config === 'string') return text => text.replaceAll(config, () => MASK)
  const checked = 'regex' in config ? checkPattern(config.regex) : undefined
  if (checked?.ok !== true)
    throw new TypeError(`contentFilter: the pattern ${JSON.stringify(config)} cannot redact: a glob fits a whole text`)
  return text => text.replace(checked.pattern, () => MASK)
}

const WITHHELD = Symbol('kept back')

function applyFilter(value: unknown, filter: Filter): unknown {
  const copies = new Map<object, unknown>()
  let isChanged = false
  let isKeptBack = false
  function textOf(text: string, isUnderSecretKey: boolean): string {
    const filtered = filter(text, isUnderSecretKey)
    isKeptBack ||= filtered === undefined
    isChanged ||= filtered !== text
    return filtered ?? ''
  }
  function copied(each: unknown, isUnderSecretKey: boolean, depth: number): unknown {
    if (typeof each === 'string') return textOf(each, isUnderSecretKey)
    if (typeof each === 'number' || typeof each === 'bigint') {
      const text = textOf(`${each}`, false)
      return text === `${each}` ? each : text
    }
    if ((!Array.isArray(each) && !isPlain(each)) || depth > DEPTH_LIMIT) return each
    const known = copies.get(each)
    if (known !== undefined) return known
    if (Array.isArray(each)) {
      const list: unknown[] = []
      copies.set(each, list)
      for (const one of each) list.push(copied(one, isUnderSecretKey, depth + 1))
      return list
    }
    const entries = new Map<string, unknown>()
    const copy: Record<string, unknown> = {}
    copies.set(each, copy)
    for (const [key, one] of Object.entries(each)) entries.set(key, copied(one, isSecretKey(key), depth + 1))
    return Object.assign(copy, Object.fromEntries(entries))
  }
  const copy = copied(value, false, 0)
  return isKeptBack ? WITHHELD : isChanged ? copy : value
}

function arePatterns(value: unknown): boolean {
  return (
    isPlain(value) &&
    Object.entries(value).every(([key, each]) => (key === 'redact' || key === 'block') && Array.isArray(each))
  )
}

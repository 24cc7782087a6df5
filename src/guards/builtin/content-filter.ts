import { checkPattern } from '../../content/redact-patterns.ts'
import { createRedactor } from '../../content/redaction.ts'
import { isSecretKey } from '../../content/secret-keys.ts'
import { MASK } from '../../content/secret-span.ts'
import { copied, isPlain } from '../frozen-copy.ts'
import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { type Block, block, type Rewrite, rewrite } from '../verdict.ts'
import { cardNumbersIn } from './card-numbers.ts'
import { type BuiltinOptions, checkOptions, listOf, oneOf, propertiesOf } from './options.ts'
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

/** Returns undefined if the whole text is to be withheld. */
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
    ...propertiesOf(options, 'content-filter', PRIORITY.security, 'block'),
    decisions: ['block', 'rewrite'],
    ...(phases.has('afterModel') && { afterModel: ({ text }: { readonly text: string }) => judge(text) }),
    ...(phases.has('afterTool') && { afterTool: ({ result }: { readonly result: unknown }) => judge(result) }),
    ...(phases.has('afterTurn') && { afterTurn: ({ answer }: { readonly answer: string }) => judge(answer) }),
  })
}

function filtersOf({ secrets = 'redact', cards = 'redact', patterns = {} }: ContentFilterOptions) {
  const blocking = (patterns.block ?? []).map(config => compiled(config, 'block'))
  const redacting = (patterns.redact ?? []).map(redactionOf)
  const redact = createRedactor({ enabled: true, patterns: [] })
  const blocked: Filter = text => (blocking.some(({ matches }) => matches(text)) ? undefined : text)
  const withoutSecrets: Filter = (text, isUnderSecretKey) => (isUnderSecretKey && text !== '' ? MASK : redact(text))
  const masking = (action: FilterAction, mask: Filter): Filter | false => {
    if (action !== 'block') return action === 'redact' && mask
    return (text, isUnderSecretKey) => (mask(text, isUnderSecretKey) === text ? text : undefined)
  }
  const filters: readonly { readonly what: string; readonly filter: Filter | false }[] = [
    { what: 'what a pattern of the person names', filter: blocking.length > 0 && blocked },
    { what: 'a secret', filter: masking(secrets, withoutSecrets) },
    { what: 'the number of a payment card', filter: masking(cards, withoutCards) },
    { what: '', filter: redacting.length > 0 && (text => redacting.reduce((now, redaction) => redaction(now), text)) },
  ]
  return filters.flatMap(({ what, filter }) => (filter === false ? [] : [{ what, filter }]))
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
  let isChanged = false
  let isWithheld = false
  const copy = copied(value, (each, key) => {
    const isNumber = typeof each === 'number' || typeof each === 'bigint'
    if (typeof each !== 'string' && !isNumber) return each
    const filtered = filter(`${each}`, !isNumber && isSecretKey(key))
    isWithheld ||= filtered === undefined
    if (filtered === `${each}`) return each
    isChanged = true
    return filtered
  })
  return isWithheld ? WITHHELD : isChanged ? copy : value
}

function arePatterns(value: unknown): boolean {
  return (
    isPlain(value) &&
    Object.entries(value).every(([key, each]) => (key === 'redact' || key === 'block') && Array.isArray(each))
  )
}

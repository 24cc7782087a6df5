import { checkPattern } from '../../content/redact-patterns.ts'
import type { CharacterSet, RegexNode } from '../../content/regex-cost.ts'
import { ANY, charactersOf, isNullable, mostSteps, parseRegex } from '../../content/regex-cost.ts'

/** A configured pattern: a literal text, a glob or a regular expression. */
export type PatternConfig = string | { readonly glob: string } | { readonly regex: string }

export type CompiledPattern =
  | { readonly ok: true; readonly matches: (text: string) => boolean }
  | { readonly ok: false; readonly reason: string }

const NOT_A_PATTERN: CompiledPattern = { ok: false, reason: 'it is neither a text, nor { glob }, nor { regex }' }

/**
 * Compiles a pattern that matches in time linear in the text. A literal text or regular expression matches anywhere; a glob
 * (`*` within a segment, `**` across segments, `?`) matches the whole text. A regular expression that may be slower is
 * rejected.
 */
export function compilePattern(config: PatternConfig): CompiledPattern {
  if (config === '') return { ok: false, reason: 'it is empty' }
  if (typeof config === 'string') return { ok: true, matches: text => text.includes(config) }
  if (typeof config !== 'object' || config === null) return NOT_A_PATTERN
  if ('glob' in config && typeof config.glob === 'string') return globMatcher(config.glob)
  if ('regex' in config && typeof config.regex === 'string') return regular(config.regex)
  return NOT_A_PATTERN
}

function regular(source: string): CompiledPattern {
  const checked = checkPattern(source)
  if (!checked.ok) return checked
  const bounded = withoutRuns(parseRegex(source), undefined, true)
  if (bounded === undefined || mostSteps(bounded) > MAX_STEPS) return { ok: false, reason: TOO_MANY }
  // A global expression would continue after its last match.
  const pattern = new RegExp(checked.pattern.source, checked.pattern.flags.replace('g', ''))
  return { ok: true, matches: text => pattern.test(text) }
}

/** `?` -> `one`, `*` -> `some` (both within a segment), `**` -> `all`, `**` and a slash -> `folders` (zero or more). */
interface Token {
  readonly kind: 'character' | 'one' | 'some' | 'all' | 'folders'
  readonly text?: string
}

const LONGEST = 500

/**
 * Matches the whole text. A backslash escapes the next character. All reachable positions are tracked at once, without
 * backtracking: at most text length × glob length steps.
 */
export function globMatcher(glob: string): CompiledPattern {
  if (glob === '') return { ok: false, reason: 'it is empty' }
  if (glob.length > LONGEST) return { ok: false, reason: `it is longer than ${LONGEST} characters` }
  const tokens = tokensOf(glob)
  return { ok: true, matches: text => matchesGlob(tokens, text) }
}

const TOKEN = /\*\*\/|\*\*+|\*|\?|\\?([\s\S])/gu

function tokensOf(glob: string): Token[] {
  return [...glob.matchAll(TOKEN)].flatMap(([text, character], at, all): Token[] => {
    if (character !== undefined) return [{ kind: 'character', text: character }]
    if (text === '?') return [{ kind: 'one' }]
    if (text === '*') return [{ kind: 'some' }]
    // Only at the start of a segment: `a**/b` does not match `ab`.
    const before = all[at - 1]?.[0]
    if (text !== '**/') return [{ kind: 'all' }]
    const isSegment = before === undefined || before.endsWith('/')
    return isSegment ? [{ kind: 'folders' }] : [{ kind: 'all' }, { kind: 'character', text: '/' }]
  })
}

function matchesGlob(tokens: readonly Token[], text: string): boolean {
  let places = addPositions(tokens, new Set(), 0)
  for (const character of text) {
    const next = new Set<number>()
    for (const at of places) step(tokens, next, at, character)
    if (next.size === 0) return false
    places = next
  }
  return places.has(tokens.length)
}

function step(tokens: readonly Token[], next: Set<number>, at: number, character: string): void {
  const token = tokens[at]
  const isSlash = character === '/'
  if (token === undefined) return
  if (token.kind === 'character') {
    if (token.text === character) addPositions(tokens, next, at + 1)
  } else if (token.kind === 'one') {
    if (!isSlash) addPositions(tokens, next, at + 1)
  } else if (token.kind === 'folders') {
    next.add(at)
    if (isSlash) addPositions(tokens, next, at + 1)
  } else if (token.kind === 'all' || !isSlash) {
    addPositions(tokens, next, at)
  }
}

function addPositions(tokens: readonly Token[], places: Set<number>, from: number): Set<number> {
  for (let at = from; ; at++) {
    places.add(at)
    const kind = tokens[at]?.kind
    if (kind !== 'some' && kind !== 'all' && kind !== 'folders') return places
  }
}

/**
 * Checks that a regular expression runs in time linear in the text. The redaction check only bounds the cost at one position of
 * a truncated text. Here texts are searched to their end, and a match may start at every position.
 */

const MAX_STEPS = 500
const TOO_MANY =
  'it can take very long on a long text: bound its repeats ({0,100}), or put in front of a repeat without a bound what it cannot contain'

/**
 * Removes the repeats that consume each character only once:
 *
 * - those at the very end
 * - those after a character that they cannot contain, so that no second attempt starts inside the same run
 *
 * Returns undefined if other unbounded repeats exist.
 *
 * @param before the possible preceding characters; undefined if any
 */
function withoutRuns(node: RegexNode, before: CharacterSet | undefined, isLast: boolean): RegexNode | undefined {
  switch (node.type) {
    case 'sequence':
      return sequence(node.items, before, isLast)
    case 'choice': {
      const options = node.options.map(option => withoutRuns(option, before, isLast))
      return options.includes(undefined) ? undefined : { type: 'choice', options: options as RegexNode[] }
    }
    case 'repeat':
      return repeat(node, before, isLast)
    case 'assertion': {
      const body = node.body === undefined ? undefined : withoutRuns(node.body, undefined, false)
      return node.body !== undefined && body === undefined ? undefined : { type: 'assertion', body }
    }
    default:
      return node
  }
}

function sequence(items: readonly RegexNode[], start: CharacterSet | undefined, isLast: boolean) {
  const kept: RegexNode[] = []
  let before = start
  for (const [at, item] of items.entries()) {
    const bounded = withoutRuns(item, before, isLast && at === items.length - 1)
    if (bounded === undefined) return undefined
    kept.push(bounded)
    const last = lastOf(item)
    before = isNullable(item) ? (before === undefined ? undefined : before | last) : last
  }
  return { type: 'sequence' as const, items: kept }
}

function repeat(node: RegexNode & { type: 'repeat' }, before: CharacterSet | undefined, isLast: boolean) {
  const isRun = node.max === Infinity
  const isApart = before !== undefined && (before & charactersOf(node.body)) === 0n
  if (isRun && !isLast && !isApart) return undefined
  // The second round of a repeat is preceded by the end of the first.
  const inner = node.max <= 1 ? before : before === undefined ? undefined : before | lastOf(node.body)
  const body = withoutRuns(node.body, inner, false)
  return body === undefined ? undefined : { ...node, body, max: isRun ? node.min + 1 : node.max }
}

function lastOf(node: RegexNode): CharacterSet {
  switch (node.type) {
    case 'character':
      return node.set
    case 'sequence': {
      let set = 0n
      for (const item of node.items.toReversed()) {
        set |= lastOf(item)
        if (!isNullable(item)) return set
      }
      return set
    }
    case 'choice':
      return node.options.reduce((set, option) => set | lastOf(option), 0n)
    case 'repeat':
      return lastOf(node.body)
    case 'reference':
      return ANY
    default:
      return 0n
  }
}

import { ANY, type CharacterSet, parseRegex, type RegexNode } from './regex-tree.ts'

export type PatternCheck =
  | { readonly ok: true; readonly pattern: RegExp }
  | { readonly ok: false; readonly reason: string }

/** A long run of characters that a repeat without an upper bound may meet. */
const LONG_RUN = 1000
/** Ways to match at one place of a text. One unbounded repeat that has to try is fine, two behind each other are not. */
const MOST_WAYS = 100_000
const LONGEST_SOURCE = 2000

function isNullable(node: RegexNode): boolean {
  switch (node.type) {
    case 'character':
      return false
    case 'sequence':
      return node.items.every(isNullable)
    case 'choice':
      return node.options.some(isNullable)
    case 'repeat':
      return node.min === 0 || isNullable(node.body)
    default:
      return true
  }
}

/** What the first character can be. */
function firstOf(node: RegexNode): CharacterSet {
  switch (node.type) {
    case 'character':
      return node.set
    case 'sequence':
      return firstOfRest(node.items, 0n)
    case 'choice':
      return node.options.reduce((set, option) => set | firstOf(option), 0n)
    case 'repeat':
      return node.max === 0 ? 0n : firstOf(node.body)
    case 'empty':
      return 0n
    default:
      return ANY
  }
}

function firstOfRest(items: readonly RegexNode[], follow: CharacterSet): CharacterSet {
  let set = 0n
  for (const item of items) {
    set |= firstOf(item)
    if (!isNullable(item)) return set
  }
  return set | follow
}

/** The characters that an option surely begins with, one set a place. */
function beginning(node: RegexNode): CharacterSet[] {
  if (node.type === 'character') return [node.set]
  if (node.type !== 'sequence') return []
  const sets: CharacterSet[] = []
  for (const item of node.items) {
    if (item.type !== 'character') break
    sets.push(item.set)
  }
  return sets
}

/** Whether no text can begin both: `foo|fob` differ in their third character, `a|aa` in none. */
function exclude(one: RegexNode, other: RegexNode): boolean {
  const others = beginning(other)
  if (beginning(one).some((set, place) => ((others[place] ?? ANY) & set) === 0n)) return true
  return !isNullable(one) && !isNullable(other) && (firstOf(one) & firstOf(other)) === 0n
}

/** In how many ways a node can match at one place when one of `follow` has to come behind it. */
function waysOf(node: RegexNode, follow: CharacterSet): number {
  switch (node.type) {
    case 'sequence':
      return node.items.reduce(
        (ways, item, at) => ways * waysOf(item, firstOfRest(node.items.slice(at + 1), follow)),
        1,
      )
    case 'choice':
      return waysOfChoice(node.options, follow)
    case 'repeat':
      return waysOfRepeat(node, follow)
    case 'assertion':
      return node.body === undefined ? 1 : waysOf(node.body, ANY)
    case 'reference':
      return LONG_RUN
    default:
      return 1
  }
}

function waysOfChoice(options: readonly RegexNode[], follow: CharacterSet): number {
  const ways = options.map(option => waysOf(option, follow))
  const areExclusive = options.every((one, at) => options.slice(at + 1).every(other => exclude(one, other)))
  return areExclusive ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0)
}

function waysOfRepeat(node: RegexNode & { type: 'repeat' }, follow: CharacterSet): number {
  const first = firstOf(node.body)
  const inside = waysOf(node.body, first | follow)
  const canEndAnywhere = (first & follow) !== 0n || isNullable(node.body)
  const lengths = canEndAnywhere ? Math.min(node.max - node.min, LONG_RUN) + 1 : 1
  return lengths * inside ** Math.min(node.max, LONG_RUN)
}

function compile(source: string): RegExp | string {
  // The constructor is the only judge of syntax; without `u` it also takes what older engines took.
  for (const flags of ['gu', 'g']) {
    try {
      return new RegExp(source, flags)
    } catch (error) {
      if (flags === 'g') return error instanceof Error ? error.message : 'it is not a regular expression'
    }
  }
  return 'it is not a regular expression'
}

function failed(reason: string): PatternCheck {
  return { ok: false, reason }
}

/**
 * An own pattern, compiled, or why it cannot be used. Patterns run over everything that is captured, on the host's
 * time, so one that can backtrack badly, or that matches everywhere, is refused.
 */
export function checkPattern(source: string): PatternCheck {
  if (source.length > LONGEST_SOURCE) return failed(`it is longer than ${LONGEST_SOURCE} characters`)
  const pattern = compile(source)
  if (typeof pattern === 'string') return failed(pattern)
  const tree = parseRegex(source)
  if (isNullable(tree)) return failed('it matches the empty string')
  if (waysOf(tree, 0n) > MOST_WAYS) {
    return failed('it can take very long (nested or neighbouring repeats that match the same characters): bound them')
  }
  return { ok: true, pattern }
}

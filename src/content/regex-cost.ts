import { ANY, type CharacterSet, type RegexNode } from './regex-tree.ts'

/** Estimates the cost of a regular expression at one position of a text, from its syntax tree. */

/** Assumed run of characters for a repeat without an upper bound. */
const LONG_RUN = 1000

export function isNullable(node: RegexNode): boolean {
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

/** The character sets that a match certainly begins with, one per position. */
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

/** True if no text can begin both: `foo|fob` differ in their third character, `a|aa` in none. */
function exclude(one: RegexNode, other: RegexNode): boolean {
  const others = beginning(other)
  if (beginning(one).some((set, place) => ((others[place] ?? ANY) & set) === 0n)) return true
  return !isNullable(one) && !isNullable(other) && (firstOf(one) & firstOf(other)) === 0n
}

export function charactersOf(node: RegexNode): CharacterSet {
  switch (node.type) {
    case 'character':
      return node.set
    case 'sequence':
      return node.items.reduce((set, item) => set | charactersOf(item), 0n)
    case 'choice':
      return node.options.reduce((set, option) => set | charactersOf(option), 0n)
    case 'repeat':
      return charactersOf(node.body)
    default:
      return node.type === 'reference' ? ANY : 0n
  }
}

interface Cost {
  /** Number of ways to match at one position: how often the rest may be tried. */
  readonly ways: number
  readonly steps: number
}

/** The cost of a node that must be followed by one of `follow`. */
function costOf(node: RegexNode, follow: CharacterSet): Cost {
  switch (node.type) {
    case 'sequence':
      return costOfSequence(node.items, follow)
    case 'choice':
      return costOfChoice(node.options, follow)
    case 'repeat':
      return costOfRepeat(node, follow)
    case 'assertion':
      return { ways: 1, steps: node.body === undefined ? 1 : costOf(node.body, ANY).steps }
    case 'reference':
      return { ways: LONG_RUN, steps: LONG_RUN }
    default:
      return { ways: 1, steps: 1 }
  }
}

function costOfSequence(items: readonly RegexNode[], follow: CharacterSet): Cost {
  let ways = 1
  let steps = 0
  /** The certain characters between here and the last item that can end in several positions. */
  let between: CharacterSet[] = []
  items.forEach((item, at) => {
    const cost = costOf(item, firstOfRest(items.slice(at + 1), follow))
    // The semicolons of `.*;\d+` each begin another run of digits. Together, these runs are no longer than the text.
    const isApart = between.some(set => (set & charactersOf(item)) === 0n)
    steps += isApart ? cost.steps + ways : cost.steps * ways
    ways *= cost.ways
    between = cost.ways > 1 ? [] : [...between, ...beginning(item)]
  })
  return { ways, steps }
}

function costOfChoice(options: readonly RegexNode[], follow: CharacterSet): Cost {
  const costs = options.map(option => costOf(option, follow))
  const areExclusive = options.every((one, at) => options.slice(at + 1).every(other => exclude(one, other)))
  const ways = costs.map(cost => cost.ways)
  return {
    ways: areExclusive ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0),
    steps: costs.reduce((sum, cost) => sum + cost.steps, 0),
  }
}

function costOfRepeat(node: RegexNode & { type: 'repeat' }, follow: CharacterSet): Cost {
  const first = firstOf(node.body)
  const once = costOf(node.body, first | follow)
  const times = Math.min(node.max, LONG_RUN)
  const canEndAnywhere = (first & follow) !== 0n || isNullable(node.body)
  const ends = canEndAnywhere ? Math.min(node.max - node.min, LONG_RUN) + 1 : 1
  // Rounds with only one way advance through the text. With several ways, each round multiplies.
  if (once.ways === 1) return { ways: ends, steps: times + once.steps }
  return { ways: ends * once.ways ** times, steps: once.steps * once.ways ** times }
}

/** Steps at one position of the worst text. Infinite for patterns that backtrack exponentially. */
export function mostSteps(tree: RegexNode): number {
  return costOf(tree, 0n).steps
}

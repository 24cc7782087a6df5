import type { CharacterSet, RegexNode } from '../../content/regex-cost.ts'
import { ANY, charactersOf, isNullable, mostSteps, parseRegex } from '../../content/regex-cost.ts'

/**
 * Checks that a regular expression runs in time linear in the text. The redaction check only bounds the cost at one position of
 * a truncated text. Here texts are searched to their end, and a match may start at every position.
 */

const MAX_STEPS = 500
const TOO_MANY =
  'it can take very long on a long text: bound its repeats ({0,100}), or put in front of a repeat without a bound what it cannot contain'

export function whyNotLinear(source: string): string | undefined {
  const bounded = withoutRuns(parseRegex(source), undefined, true)
  return bounded === undefined || mostSteps(bounded) > MAX_STEPS ? TOO_MANY : undefined
}

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

function sequence(
  items: readonly RegexNode[],
  start: CharacterSet | undefined,
  isLast: boolean,
): RegexNode | undefined {
  const kept: RegexNode[] = []
  let before = start
  for (const [at, item] of items.entries()) {
    const bounded = withoutRuns(item, before, isLast && at === items.length - 1)
    if (bounded === undefined) return undefined
    kept.push(bounded)
    const last = lastOf(item)
    before = isNullable(item) ? (before === undefined ? undefined : before | last) : last
  }
  return { type: 'sequence', items: kept }
}

function repeat(
  node: RegexNode & { type: 'repeat' },
  before: CharacterSet | undefined,
  isLast: boolean,
): RegexNode | undefined {
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

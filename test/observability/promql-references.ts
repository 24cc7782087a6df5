/** One selector of an expression. */
export interface Reference {
  /** Whole-string, as Prometheus matches; a plain name is one, too. */
  readonly names: RegExp
  /** Labels that it is selected by, and those that the aggregations around it group by. */
  readonly labels: readonly string[]
  /** How it is written. */
  readonly text: string
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d[\w.]*|[=!]~|[=!<>]=|\S/g
const GROUPING = new Set(['by', 'on', 'ignoring', 'group_left', 'without'])
const WORDS = new Set(['and', 'or', 'unless', 'offset', 'bool', ...GROUPING])
const IDENTIFIER = /^[a-zA-Z_:]/

/**
 * The selectors of a PromQL expression. Just enough of a reader for what the dashboard and the rules say: an aggregation
 * names its labels before its argument (`sum by (job) (…)`), and there are no subqueries.
 */
export function references(expression: string): Reference[] {
  const tokens: readonly string[] = expression.match(TOKEN) ?? []
  const found: Reference[] = []
  const around: string[][] = []
  let pending: string[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? ''
    if (token === '(') {
      around.push(pending)
      pending = []
    } else if (token === ')') {
      around.pop()
    } else if (GROUPING.has(token)) {
      const end = tokens.indexOf(')', at)
      pending = tokens.slice(at + 2, end).filter(label => IDENTIFIER.test(label))
      if (tokens[end + 1] !== '(') throw new Error(`a grouping that is not followed by its argument: ${expression}`)
      at = end
    } else if (token === '{' || isMetric(tokens, at)) {
      const end = token === '{' || tokens[at + 1] === '{' ? tokens.indexOf('}', at) : at
      found.push(selector(tokens.slice(at, end + 1), around.flat()))
      at = end
    }
  }
  return found
}

function isMetric(tokens: readonly string[], at: number): boolean {
  const token = tokens[at] ?? ''
  return IDENTIFIER.test(token) && !WORDS.has(token) && tokens[at + 1] !== '(' && !GROUPING.has(tokens[at + 1] ?? '')
}

function selector(tokens: readonly string[], groupedBy: readonly string[]): Reference {
  const matchers = tokens.flatMap((token, at) =>
    /^[=!]~?$|^!=$/.test(token) ? [{ label: tokens[at - 1] ?? '', value: (tokens[at + 1] ?? '').slice(1, -1) }] : [],
  )
  const named = matchers.find(({ label }) => label === '__name__')
  return {
    names: new RegExp(`^(?:${named ? named.value : tokens[0]})$`),
    labels: [...matchers.map(({ label }) => label).filter(label => label !== '__name__'), ...groupedBy],
    text: tokens.join(''),
  }
}

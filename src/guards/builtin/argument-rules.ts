import type { ToolArguments, ToolCall } from '../tool-call.ts'
import { cardNumbersIn } from './card-numbers.ts'
import { invalidRule, NON_EMPTY, type RuleViolation } from './finding.ts'
import { type Allowed, checkKeys, oneOf, TEXT } from './options.ts'
import { compilePattern, globMatcher, type PatternConfig } from './pattern.ts'
import { isSqlVerb, statementsOf } from './sql-statements.ts'

export type ToolCheck = (tool: ToolCall) => RuleViolation[]

/** Rules by tool name. */
export interface ToolRules {
  /** The agent's tool names, as globs (`mcp__files__delete_*`). */
  readonly block?: readonly string[] | undefined
  /** Tools that need the user's consent. */
  readonly ask?: readonly string[] | undefined
}

/** Rules for SQL statements. */
export interface SqlRules {
  /** The argument that holds SQL, by the tool's name: `{ mcp__db__query: 'sql' }`. */
  readonly tools: Readonly<Record<string, string>>
  /** `DROP`, `DELETE`, … */
  readonly block?: readonly string[] | undefined
  /** Statements that need the user's consent. */
  readonly ask?: readonly string[] | undefined
}

/** A pattern that no argument may contain. */
export interface PatternRule {
  /** The name reported instead of the matched text, which is never quoted. */
  readonly name: string
  /** The pattern to match. */
  readonly pattern: PatternConfig
  /** Default `block`. */
  readonly decision?: 'block' | 'ask' | undefined
}

export function toolNameCheck(rules: ToolRules): ToolCheck {
  checkKeys('guardrails: tools', rules, { block: NON_EMPTY, ask: NON_EMPTY })
  const [block, ask] = [compileGlobs(rules.block, 'tools.block'), compileGlobs(rules.ask, 'tools.ask')]
  if (block.length + ask.length === 0) throw invalidRule('tools has no rule: block, ask')
  return ({ name }) => {
    const decision = block.some(fits => fits(name)) ? 'block' : ask.some(fits => fits(name)) ? 'ask' : undefined
    const detail = `The tool ${name} is in tools.${decision}.`
    return decision === undefined ? [] : [{ decision, reason: `The tool ${name} is not allowed here.`, detail }]
  }
}

function compileGlobs(globs: readonly string[] | undefined, where: string): ((text: string) => boolean)[] {
  return (globs ?? []).map(each => {
    const glob = typeof each === 'string' ? globMatcher(each) : { ok: false as const, reason: 'it is no text' }
    if (!glob.ok) throw invalidRule(`an entry of ${where} cannot be used: ${glob.reason}`)
    return glob.matches
  })
}

const ARGUMENTS: Allowed = {
  means: "the names of tools, and of the argument of each: { query: 'sql' }",
  is: value =>
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length > 0 &&
    Object.values(value).every(each => TEXT.is(each)),
}

export function sqlCheck(rules: SqlRules): ToolCheck {
  checkKeys('guardrails: sql', rules, { tools: ARGUMENTS, block: NON_EMPTY, ask: NON_EMPTY })
  if (rules.tools === undefined) throw invalidRule(`sql.tools is ${ARGUMENTS.means}`)
  const [block, ask] = [checkedVerbs(rules.block, 'sql.block'), checkedVerbs(rules.ask, 'sql.ask')]
  if (block.size + ask.size === 0) throw invalidRule('sql has no rule: block, ask')
  const tools = new Map(Object.entries(rules.tools))
  return tool => {
    const key = tools.get(tool.name)
    if (key === undefined) return []
    const sql = tool.arguments[key]
    if (typeof sql !== 'string') return [unreadableSql(`The argument ${key} of ${tool.name} is no text.`)]
    return statementsOf(sql).flatMap(({ verb, isUnknown }) => {
      const decision = block.has(verb) ? 'block' : ask.has(verb) ? 'ask' : undefined
      if (decision === undefined)
        return isUnknown ? [unreadableSql('Databases may read the SQL in different ways.')] : []
      return [{ decision, reason: `${verb} is not allowed here.`, detail: `The SQL of ${tool.name} does ${verb}.` }]
    })
  }
}

function unreadableSql(detail: string): RuleViolation {
  const reason =
    'The SQL cannot be read with certainty: write plain statements, each behind a semicolon, without comments.'
  return { decision: 'unknown', reason, detail }
}

function checkedVerbs(verbs: readonly string[] | undefined, where: string): ReadonlySet<string> {
  const upper = (verbs ?? []).map(verb => String(verb).toUpperCase())
  const wrong = upper.find(verb => !isSqlVerb(verb))
  if (wrong !== undefined) throw invalidRule(`"${wrong}" in ${where} is no first word of a statement, as DROP is`)
  return new Set(upper)
}

export function cardCheck(decision: 'block' | 'ask'): ToolCheck {
  return ({ name, arguments: args }) =>
    firstViolation(args, text =>
      cardNumbersIn(text).length === 0
        ? undefined
        : {
            decision,
            reason: 'The arguments hold the number of a payment card, which must not leave here: do without it.',
            detail: `The arguments of ${name} hold the number of a payment card.`,
          },
    )
}

export function patternCheck(rules: readonly PatternRule[]): ToolCheck {
  const compiled = rules.map(rule => {
    checkKeys('guardrails: patterns', rule, { name: TEXT, pattern: ANY, decision: oneOf(['block', 'ask']) })
    const { name, pattern, decision = 'block' } = rule
    if (name === undefined) throw invalidRule('one of patterns has no name')
    const made = compilePattern(pattern)
    if (!made.ok) throw invalidRule(`the pattern "${name}" cannot be used: ${made.reason}`)
    return { name, decision, matches: made.matches }
  })
  return tool =>
    compiled.flatMap(({ name, decision, matches }) =>
      firstViolation(tool.arguments, text =>
        matches(text)
          ? {
              decision,
              reason: `The arguments hold what the rule "${name}" does not allow.`,
              detail: `The pattern "${name}" is in the arguments of ${tool.name}.`,
            }
          : undefined,
      ),
    )
}

const ANY: Allowed = { means: 'a pattern', is: () => true }
const MAX_VALUES = 100_000

function firstViolation(args: ToolArguments, judge: (text: string) => RuleViolation | undefined): RuleViolation[] {
  const waiting: unknown[] = [args]
  for (let count = 0; waiting.length > 0; count++) {
    const value = waiting.pop()
    if (count === MAX_VALUES) {
      const reason = 'The arguments hold more than can be looked through: split them.'
      return [{ decision: 'unknown', reason, detail: 'The arguments hold more than can be looked through.' }]
    }
    const found = typeof value === 'string' || typeof value === 'number' ? judge(String(value)) : undefined
    if (found !== undefined) return [found]
    if (typeof value !== 'object' || value === null) continue
    for (const [key, each] of Object.entries(value)) {
      if (!Array.isArray(value)) waiting.push(key)
      waiting.push(each)
    }
  }
  return []
}

import type { ToolArguments, ToolCall } from '../tool-call.ts'
import { cardNumbersIn } from './card-numbers.ts'
import { type Allowed, checkKeys, OBJECT, oneOf, TEXT, TEXTS } from './options.ts'
import { compilePattern, globMatcher, type PatternConfig } from './pattern.ts'
import type { ShellCommand, ShellReading } from './shell-commands.ts'
import { isSqlVerb, statementsOf } from './sql-statements.ts'

/**
 * A rule violation. It contains no text of the agent except paths and plain command names. `unknown`: it is undecidable
 * whether the rule is broken.
 */
export interface RuleViolation {
  readonly decision: 'block' | 'ask' | 'unknown'
  readonly reason: string
  readonly detail: string
}

/** An empty list would be a rule without effect. */
export const NON_EMPTY: Allowed = {
  means: 'a list with something in it',
  is: value => Array.isArray(value) && value.length > 0,
}

export function invalidRule(trouble: string): TypeError {
  return new TypeError(`guardrails: ${trouble}`)
}

/** `reading`: the commands of a shell, if any rule needs them. */
export type RuleCheck = (tool: ToolCall, reading?: ShellReading | undefined) => RuleViolation[]

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

export function toolNameCheck(rules: ToolRules): RuleCheck {
  checkKeys('guardrails: tools', rules, { block: NON_EMPTY, ask: NON_EMPTY })
  const compile = (key: 'block' | 'ask'): ((text: string) => boolean)[] =>
    (rules[key] ?? []).map(pattern => globOf(pattern, `an entry of tools.${key}`))
  const [block, ask] = [compile('block'), compile('ask')]
  if (block.length + ask.length === 0) throw invalidRule('tools has no rule: block, ask')
  return ({ name }) => {
    const decision = block.some(fits => fits(name)) ? 'block' : ask.some(fits => fits(name)) ? 'ask' : undefined
    const detail = `The tool ${name} is in tools.${decision}.`
    return decision === undefined ? [] : [{ decision, reason: `The tool ${name} is not allowed here.`, detail }]
  }
}

function globOf(pattern: string, what: string): (text: string) => boolean {
  const glob = typeof pattern === 'string' ? globMatcher(pattern) : { ok: false as const, reason: 'it is no text' }
  if (!glob.ok) throw invalidRule(`${what} cannot be used: ${glob.reason}`)
  return glob.matches
}

const ARGUMENTS: Allowed = {
  means: "the names of tools, and of the argument of each: { query: 'sql' }",
  is: value =>
    OBJECT.is(value) && Object.keys(value as object).length > 0 && Object.values(value as object).every(TEXT.is),
}

export function sqlCheck(rules: SqlRules): RuleCheck {
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

export function cardCheck(decision: 'block' | 'ask'): RuleCheck {
  const reason = 'The arguments hold the number of a payment card, which must not leave here: do without it.'
  return ({ name, arguments: args }) => {
    const detail = `The arguments of ${name} hold the number of a payment card.`
    return violationIn(args, text => cardNumbersIn(text).length > 0, { decision, reason, detail })
  }
}

export function patternCheck(rules: readonly PatternRule[]): RuleCheck {
  const compiled = rules.map(rule => {
    checkKeys('guardrails: patterns', rule, { name: TEXT, pattern: ANY, decision: oneOf(['block', 'ask']) })
    const { name, pattern, decision = 'block' } = rule
    if (name === undefined) throw invalidRule('one of patterns has no name')
    const made = compilePattern(pattern)
    if (!made.ok) throw invalidRule(`the pattern "${name}" cannot be used: ${made.reason}`)
    return { name, decision, matches: made.matches }
  })
  return tool =>
    compiled.flatMap(({ name, decision, matches }) => {
      const reason = `The arguments hold what the rule "${name}" does not allow.`
      const detail = `The pattern "${name}" is in the arguments of ${tool.name}.`
      return violationIn(tool.arguments, matches, { decision, reason, detail })
    })
}

const ANY: Allowed = { means: 'a pattern', is: () => true }
const MAX_VALUES = 100_000

/** The violation, if any key or value of the arguments matches. */
function violationIn(
  args: ToolArguments,
  matches: (text: string) => boolean,
  violation: RuleViolation,
): RuleViolation[] {
  const waiting: unknown[] = [args]
  for (let count = 0; waiting.length > 0; count++) {
    const value = waiting.pop()
    if (count === MAX_VALUES) {
      const reason = 'The arguments hold more than can be looked through: split them.'
      return [{ decision: 'unknown', reason, detail: 'The arguments hold more than can be looked through.' }]
    }
    if ((typeof value === 'string' || typeof value === 'number') && matches(String(value))) return [violation]
    if (typeof value !== 'object' || value === null) continue
    for (const [key, each] of Object.entries(value)) {
      if (!Array.isArray(value)) waiting.push(key)
      waiting.push(each)
    }
  }
  return []
}

/**
 * A command name and words that must be among its arguments, all as globs. `'git push --force*'` equals `{ name: 'git', args:
 * ['push', '--force*'] }`. Grouped short options match in any order: `rm -rf` is `rm -f -r`.
 */
export type CommandPattern = string | { readonly name: string; readonly args?: readonly string[] | undefined }

/** Rules for shell commands. */
export interface CommandRules {
  /** Commands that are blocked. */
  readonly block?: readonly CommandPattern[] | undefined
  /** Commands that need the user's consent. */
  readonly ask?: readonly CommandPattern[] | undefined
  /** If set, all other commands are blocked. */
  readonly allow?: readonly CommandPattern[] | undefined
}

interface CommandRule {
  readonly text: string
  readonly matches: (command: ShellCommand) => 'yes' | 'no' | 'maybe'
}

export function commandCheck(rules: CommandRules): RuleCheck {
  checkKeys('guardrails: commands', rules, { block: NON_EMPTY, ask: NON_EMPTY, allow: NON_EMPTY })
  const compile = (key: keyof CommandRules): CommandRule[] | undefined =>
    rules[key]?.map(pattern => compileRule(pattern, `commands.${key}`))
  const [block, ask, allow] = [compile('block'), compile('ask'), compile('allow')]
  if (block === undefined && ask === undefined && allow === undefined)
    throw invalidRule('commands has no rule: block, ask, allow')
  return (_, reading) =>
    (reading?.commands ?? [])
      .filter(({ name }) => name !== '')
      .flatMap(command => [
        ...(block ?? []).flatMap(rule => violationsOf(rule, command, 'block')),
        ...(ask ?? []).flatMap(rule => violationsOf(rule, command, 'ask')),
        ...(allow === undefined || allow.some(rule => rule.matches(command) === 'yes') ? [] : [notAllowed(command)]),
      ])
}

function violationsOf(rule: CommandRule, command: ShellCommand, decision: 'block' | 'ask'): RuleViolation[] {
  const fit = rule.matches(command)
  if (fit === 'no') return []
  if (fit === 'yes') {
    const reason = `The command "${rule.text}" is not allowed here, in whatever way it is run.`
    return [{ decision, reason, detail: `It runs "${rule.text}".` }]
  }
  const reason = `It is not certain whether this is "${rule.text}": write its arguments out, without variables and patterns.`
  return [{ decision: 'unknown', reason, detail: `It may run "${rule.text}": its arguments are made while it runs.` }]
}

function notAllowed({ name }: ShellCommand): RuleViolation {
  // Only plain names are quoted; anything else may contain secrets of the agent.
  const called = /^[\w.+-]{1,40}$/.test(name) ? `"${name}"` : 'one of them'
  const reason = `Only some commands are allowed here, and ${called} is not among them.`
  return { decision: 'block', reason, detail: `It runs a command that is not in commands.allow: ${called}.` }
}

function compileRule(pattern: CommandPattern, where: string): CommandRule {
  if (typeof pattern !== 'string') checkKeys(`guardrails: a command of ${where}`, pattern, { name: TEXT, args: TEXTS })
  const [name, ...args] =
    typeof pattern === 'string'
      ? pattern.split(/\s+/).filter(word => word !== '')
      : [pattern.name, ...(pattern.args ?? [])]
  if (typeof name !== 'string' || name === '') throw invalidRule(`a command of ${where} has no name`)
  if (name.includes('/')) throw invalidRule(`"${name}" in ${where} is a path: a command is known by its name alone`)
  const isNamed = globOf(name.toLowerCase(), `a word of ${where}`)
  const wanted = args.map(arg => argumentMatcher(arg, where))
  return {
    text: [name, ...args].join(' '),
    matches(command) {
      if (isNamed('rm') && command.name === 'find' && command.args.includes('-delete')) return 'yes'
      if (!isNamed(command.name.toLowerCase())) return 'no'
      if (wanted.every(isAmong => isAmong(command.args))) return 'yes'
      return command.args.includes(undefined) ? 'maybe' : 'no'
    },
  }
}

function argumentMatcher(pattern: string, where: string): (args: ShellCommand['args']) => boolean {
  const fits = globOf(pattern, `a word of ${where}`)
  const letters = /^-([A-Za-z]{1,3})$/.exec(pattern)?.[1]
  return args => {
    if (args.some(arg => arg !== undefined && fits(arg))) return true
    if (letters === undefined) return false
    const given = args.filter(arg => arg !== undefined && /^-[A-Za-z]+$/.test(arg)).join('')
    return [...letters].every(letter => given.includes(letter))
  }
}

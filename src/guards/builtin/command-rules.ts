import { invalidRule, NON_EMPTY, type RuleViolation } from './finding.ts'
import { checkKeys, TEXT, TEXTS } from './options.ts'
import { globMatcher } from './pattern.ts'
import type { ShellCommand, ShellReading } from './shell-commands.ts'

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

type Match = 'yes' | 'no' | 'maybe'
type CommandCheck = (reading: ShellReading) => RuleViolation[]

interface CommandRule {
  readonly text: string
  readonly matches: (command: ShellCommand) => Match
}

export function commandCheck(rules: CommandRules): CommandCheck {
  checkKeys('guardrails: commands', rules, { block: NON_EMPTY, ask: NON_EMPTY, allow: NON_EMPTY })
  const [block, ask, allow] = [rules.block, rules.ask, rules.allow].map((patterns, at) => {
    if (patterns === undefined) return undefined
    const where = `commands.${['block', 'ask', 'allow'][at]}`
    return patterns.map(pattern => compileRule(pattern, where))
  })
  if (block === undefined && ask === undefined && allow === undefined)
    throw invalidRule('commands has no rule: block, ask, allow')
  return ({ commands }) =>
    commands
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
  const isNamed = globOf(name.toLowerCase(), where)
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

type Args = readonly (string | undefined)[]

function argumentMatcher(pattern: string, where: string): (args: Args) => boolean {
  const fits = globOf(pattern, where)
  const letters = /^-([A-Za-z]{1,3})$/.exec(pattern)?.[1]
  return args => {
    if (args.some(arg => arg !== undefined && fits(arg))) return true
    if (letters === undefined) return false
    const given = args.filter(arg => arg !== undefined && /^-[A-Za-z]+$/.test(arg)).join('')
    return [...letters].every(letter => given.includes(letter))
  }
}

function globOf(pattern: string, where: string): (text: string) => boolean {
  const glob = globMatcher(pattern)
  if (!glob.ok) throw invalidRule(`a word of ${where} cannot be used: ${glob.reason}`)
  return glob.matches
}

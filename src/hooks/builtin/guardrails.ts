import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { commandsIn, type ToolCall } from '../tool-call.ts'
import { type Ask, ask, type Block, block } from '../verdict.ts'
import {
  cardJudge,
  type PatternRule,
  patternJudge,
  type SqlRules,
  sqlJudge,
  type ToolRules,
  toolJudge,
} from './argument-rules.ts'
import { type CommandRules, commandJudge } from './command-rules.ts'
import { FILLED, type Finding, refused } from './finding.ts'
import { type Allowed, type BuiltinOptions, checkOptions, oneOf } from './options.ts'
import { type PathRules, pathJudge } from './path-rules.ts'
import { readCommands, type ShellReading } from './shell-commands.ts'

/** Without more: the name `guardrails`, the priority 0 (at most 99), `onFailure: 'block'`. */
export interface GuardrailsOptions extends BuiltinOptions {
  /** By the tool's name. */
  readonly tools?: ToolRules | undefined
  /** By the files that it names. */
  readonly paths?: PathRules | undefined
  /** By the commands that a shell would run. */
  readonly commands?: CommandRules | undefined
  /** By the statements that a database would run. */
  readonly sql?: SqlRules | undefined
  /** What to do about numbers of payment cards in the arguments of any tool. */
  readonly cards?: 'block' | 'ask' | undefined
  /** By what stands in any argument. */
  readonly patterns?: readonly PatternRule[] | undefined
  /** What to do where it cannot be told whether a rule is broken. Default `ask`. */
  readonly onUnknown?: 'ask' | 'block' | 'pass' | undefined
}

const RULES: Allowed = { means: 'an object', is: value => typeof value === 'object' && value !== null }
const ALLOWED: Readonly<Record<Exclude<keyof GuardrailsOptions, keyof BuiltinOptions>, Allowed>> = {
  tools: RULES,
  paths: RULES,
  commands: RULES,
  sql: RULES,
  cards: oneOf(['block', 'ask']),
  patterns: FILLED,
  onUnknown: oneOf(['ask', 'block', 'pass']),
}
const WINDOWS_SHELL = /^(?:powershell|pwsh|cmd)$/i
const LAST_PRIORITY = 99

type Judge = (tool: ToolCall, reading: ShellReading | undefined) => Finding[]

/**
 * Judges the arguments of tools before these run. Commands are read by a shell's grammar, paths where they really lead. It is a
 * speed bump: what a script, a Makefile or an interpreter does is not seen. The boundary is a sandbox.
 *
 * @throws {TypeError} one line, where a rule names nothing that there is: it would guard nothing
 */
export function guardrails(options: GuardrailsOptions): Hook<'block' | 'ask'> {
  checkOptions('guardrails', options, ALLOWED)
  const { name = 'guardrails', priority = PRIORITY.security, onUnknown = 'ask', onFailure = 'block' } = options
  if (!(priority >= 0 && priority <= LAST_PRIORITY)) throw refused(`priority is no number from 0 to ${LAST_PRIORITY}`)
  const judges = judgesOf(options)
  if (judges.length === 0) throw refused('there is no rule: tools, paths, commands, sql, cards, patterns')
  const readsShell = options.commands !== undefined || (options.paths !== undefined && looksAtShell(options.paths))
  return defineHook({
    name,
    priority,
    onFailure,
    decides: ['block', 'ask'],
    beforeTool({ tool }) {
      const reading = readsShell && tool.kind === 'shell' ? readingOf(tool) : undefined
      const findings = judges.flatMap(judge => judge(tool, reading))
      return verdictOf(reading?.isUnknown ? [...findings, unread(reading)] : findings, onUnknown)
    },
  })
}

function judgesOf({ tools, paths, commands, sql, cards, patterns }: GuardrailsOptions): Judge[] {
  const judges: Judge[] = []
  if (tools !== undefined) judges.push(toolJudge(tools))
  if (commands !== undefined) {
    const judge = commandJudge(commands)
    judges.push((_, reading) => (reading === undefined ? [] : judge(reading)))
  }
  if (paths !== undefined) judges.push(pathJudge(paths))
  if (sql !== undefined) judges.push(sqlJudge(sql))
  if (cards !== undefined) judges.push(cardJudge(cards))
  if (patterns !== undefined) judges.push(patternJudge(patterns))
  return judges
}

function looksAtShell(paths: PathRules): boolean {
  return paths.for === undefined || paths.for.includes('shell')
}

function readingOf(tool: ToolCall): ShellReading {
  if (WINDOWS_SHELL.test(tool.name)) return { commands: [], isUnknown: true, why: 'it is a command of Windows' }
  const readings = textsOf(tool).map(readCommands)
  if (readings.length === 0) return { commands: [], isUnknown: true, why: 'it cannot be parsed' }
  const commands = readings.flatMap(reading => reading.commands)
  return { ...(readings.find(({ isUnknown }) => isUnknown) ?? { isUnknown: false }), commands }
}

/** Each by itself: the end of one, a here-document or a backslash, would hide the beginning of the next. */
function textsOf({ command, arguments: args }: ToolCall): readonly string[] {
  if (command === undefined) return []
  const texts = commandsIn(args)
  return texts.join('\n') === command ? texts : [command]
}

function unread({ why }: ShellReading): Finding {
  return {
    decision: 'unknown',
    reason: `The command cannot be read in full (${why}): write commands and their arguments out, one by one.`,
    detail: `The command cannot be read in full: ${why}.`,
  }
}

/** The hardest of what was found, told by what was found first. */
function verdictOf(findings: readonly Finding[], onUnknown: 'ask' | 'block' | 'pass'): Block | Ask | undefined {
  const decided = findings.map(each => ({ ...each, decision: each.decision === 'unknown' ? onUnknown : each.decision }))
  const blocked = decided.find(({ decision }) => decision === 'block')
  if (blocked !== undefined) return block(blocked.reason, { detail: blocked.detail })
  const asked = decided.filter(({ decision }) => decision === 'ask').map(({ detail }) => detail)
  if (asked.length > 0) return ask(`${[...new Set(asked)].slice(0, MOST_TOLD).join(' ')} Is it to run?`)
  return undefined
}

/** Details in one question. */
const MOST_TOLD = 3

import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { commandsIn, type ToolCall } from '../tool-call.ts'
import { type Ask, ask, type Block, block } from '../verdict.ts'
import { type Allowed, type BuiltinOptions, checkOptions, OBJECT, oneOf } from './options.ts'
import { type PathRules, pathCheck } from './path-rules.ts'
import type { CommandRules, PatternRule, RuleViolation, SqlRules, ToolRules } from './rules.ts'
import { cardCheck, commandCheck, invalidRule, NON_EMPTY, patternCheck, sqlCheck, toolNameCheck } from './rules.ts'
import { readCommands, type ShellReading } from './shell-commands.ts'

/** Options of `guardrails`. Defaults: name `guardrails`, priority 0 (at most 99), `onFailure: 'block'`. */
export interface GuardrailsOptions extends BuiltinOptions {
  /** Rules by tool name. */
  readonly tools?: ToolRules | undefined
  /** Rules for the files that a call names. */
  readonly paths?: PathRules | undefined
  /** Rules for shell commands. */
  readonly commands?: CommandRules | undefined
  /** Rules for SQL statements. */
  readonly sql?: SqlRules | undefined
  /** The decision if an argument of any tool contains a payment card number. */
  readonly cards?: 'block' | 'ask' | undefined
  /** Rules for texts in any argument. */
  readonly patterns?: readonly PatternRule[] | undefined
  /** The decision if it is undecidable whether a rule is broken. Default `ask`. */
  readonly onUnknown?: 'ask' | 'block' | 'pass' | undefined
}

const ALLOWED: Readonly<Record<Exclude<keyof GuardrailsOptions, keyof BuiltinOptions>, Allowed>> = {
  tools: OBJECT,
  paths: OBJECT,
  commands: OBJECT,
  sql: OBJECT,
  cards: oneOf(['block', 'ask']),
  patterns: NON_EMPTY,
  onUnknown: oneOf(['ask', 'block', 'pass']),
}
const WINDOWS_SHELL = /^(?:powershell|pwsh|cmd)$/i
const LAST_PRIORITY = 99

/**
 * Checks tool arguments before the tool runs. Commands are parsed by a shell grammar, paths are resolved through links. This is
 * a speed bump: the effects of scripts, Makefiles and interpreters are invisible. Use a sandbox as the boundary.
 *
 * @throws {TypeError} one line, if a rule matches nothing that exists and would have no effect
 */
export function guardrails(options: GuardrailsOptions): Hook<'block' | 'ask'> {
  checkOptions('guardrails', options, ALLOWED)
  const { name = 'guardrails', priority = PRIORITY.security, onUnknown = 'ask', onFailure = 'block' } = options
  if (!(priority >= 0 && priority <= LAST_PRIORITY))
    throw invalidRule(`priority is no number from 0 to ${LAST_PRIORITY}`)
  const { tools, paths, commands, sql, cards, patterns } = options
  const judges = [
    tools && toolNameCheck(tools),
    commands && commandCheck(commands),
    paths && pathCheck(paths),
    sql && sqlCheck(sql),
    cards && cardCheck(cards),
    patterns && patternCheck(patterns),
  ].filter(judge => judge !== undefined)
  if (judges.length === 0) throw invalidRule('there is no rule: tools, paths, commands, sql, cards, patterns')
  const readsShell = commands !== undefined || (paths !== undefined && paths.for?.includes('shell') !== false)
  return defineHook({
    name,
    priority,
    onFailure,
    decisions: ['block', 'ask'],
    beforeTool({ tool }) {
      const reading = readsShell && tool.kind === 'shell' ? readShell(tool) : undefined
      const findings = judges.flatMap(judge => judge(tool, reading))
      return verdictOf(reading?.isUnknown ? [...findings, unreadableCommand(reading)] : findings, onUnknown)
    },
  })
}

function readShell(tool: ToolCall): ShellReading {
  if (WINDOWS_SHELL.test(tool.name)) return { commands: [], isUnknown: true, why: 'it is a command of Windows' }
  // Parsed separately: an unterminated here-document or a trailing backslash of one text would hide the start of the next.
  const { command = '' } = tool
  const texts = tool.command === undefined ? [] : commandsIn(tool.arguments)
  const readings = (texts.join('\n') === command ? texts : [command]).map(readCommands)
  if (readings.length === 0) return { commands: [], isUnknown: true, why: 'it cannot be parsed' }
  const commands = readings.flatMap(reading => reading.commands)
  return { ...(readings.find(({ isUnknown }) => isUnknown) ?? { isUnknown: false }), commands }
}

function unreadableCommand({ why }: ShellReading): RuleViolation {
  return {
    decision: 'unknown',
    reason: `The command cannot be read in full (${why}): write commands and their arguments out, one by one.`,
    detail: `The command cannot be read in full: ${why}.`,
  }
}

function verdictOf(findings: readonly RuleViolation[], onUnknown: 'ask' | 'block' | 'pass'): Block | Ask | undefined {
  const decided = findings.map(each => ({ ...each, decision: each.decision === 'unknown' ? onUnknown : each.decision }))
  const blocked = decided.find(({ decision }) => decision === 'block')
  if (blocked !== undefined) return block(blocked.reason, { detail: blocked.detail })
  const asked = decided.filter(({ decision }) => decision === 'ask').map(({ detail }) => detail)
  if (asked.length > 0) return ask(`${[...new Set(asked)].slice(0, MAX_DETAILS).join(' ')} Is it to run?`)
  return undefined
}

const MAX_DETAILS = 3

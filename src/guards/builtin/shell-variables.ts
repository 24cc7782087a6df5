import type { ShellDoubt } from './shell-runs.ts'
import type { ShellWord } from './shell-words.ts'

/** The effect of a variable assignment on the commands that run. */

/** Variables whose value is a command. */
const COMMANDS = new Set([
  ...['PAGER', 'GIT_PAGER', 'MANPAGER', 'EDITOR', 'VISUAL', 'GIT_EDITOR', 'GIT_SEQUENCE_EDITOR', 'SUDO_EDITOR'],
  ...['GIT_SSH_COMMAND', 'GIT_SSH', 'GIT_ASKPASS', 'SSH_ASKPASS', 'GIT_EXTERNAL_DIFF', 'GIT_PROXY_COMMAND', 'BROWSER'],
  ...['PROMPT_COMMAND', 'RSYNC_RSH', 'LESSOPEN', 'LESSCLOSE', 'CVS_RSH', 'SVN_SSH', 'TAR_OPTIONS'],
])
/** Variables that change how words or paths are read. */
const CHANGES_READING =
  /^(?:IFS|HOME|BASH_FUNC_.*|BASH_ALIASES|BASH_CMDS|GIT_CONFIG_.*|SHELLOPTS|BASHOPTS|GLOBIGNORE|PS[0-4])$/
/** Variables with code for an interpreter that starts later. */
const CODE = /^(?:PERL5OPT|RUBYOPT|NODE_OPTIONS|PYTHONWARNINGS|PYTHONBREAKPOINT|BASH_ENV|ENV)$/
const CODE_LIKE = /-[eM]|data:|--(?:eval|import|require|loader)|[$`(]/

export interface VariableRuns {
  readonly code?: ShellWord
  readonly doubt?: ShellDoubt
}

/** `word` is the value. Code in a quoted value runs if an arithmetic expression reads the variable. */
export function variableRuns(name: string, word: ShellWord): VariableRuns {
  if (COMMANDS.has(name)) return { code: word }
  if (CHANGES_READING.test(name)) return { doubt: 'a variable is set that changes what is run' }
  if (CODE.test(name) && (word.value === undefined || CODE_LIKE.test(word.value))) {
    return { doubt: 'a variable is set that changes what is run' }
  }
  return holdsCodeInSubscript(word) ? { doubt: 'code is made while it runs' } : {}
}

const EVALUATING = new Set([
  ...['let', 'declare', 'typeset', 'local', 'export', 'readonly', 'unset', 'read', 'printf', 'test', '[', 'wait'],
  ...['getopts', 'mapfile', 'readarray', 'shift', 'exit', 'return', 'break', 'continue', 'set'],
])

const SETTING = new Set(['read', 'mapfile', 'readarray', 'getopts', 'printf', 'unset', 'local', 'declare', 'typeset'])

/** True if a builtin sets one of the variables by name: `read IFS`, `declare 'BASH_CMDS[ls]=x'`. */
export function changesReading(name: string, args: readonly ShellWord[]): boolean {
  // Without `-v`, printf sets nothing: `printf 'HOME=%s'`.
  if (name === 'printf' && !args[0]?.start.startsWith('-v')) return false
  return SETTING.has(name) && args.some(word => CHANGES_READING.test(nameIn(word)))
}

/** The name in front of a subscript or a value: `IFS`, `IFS=x`, `IFS[0]`, `-vIFS`. */
function nameIn(word: ShellWord): string {
  return /^(?:-v)?([^[=+]*)/.exec(word.start)?.[1] ?? ''
}

/** Subscripts are evaluated, even in a quoted name: `unset 'a[$(rm x)]'`. */
export function evaluates(name: string, args: readonly ShellWord[]): boolean {
  if (name === 'printf' && !args[0]?.start.startsWith('-v')) return false
  return EVALUATING.has(name) && args.some(holdsCodeInSubscript)
}

export function holdsCodeInSubscript(word: ShellWord): boolean {
  const at = word.start.indexOf('[')
  return at !== -1 && /\$\(|`/.test(word.start.slice(at))
}

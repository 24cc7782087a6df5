import { forEachChild, type ParsedScript, parse, type Redirection, type SyntaxNode } from 'unbash'
import { runsOf } from './shell-runners.ts'
import { knownWord, readWord, type ShellDoubt, type ShellWord, unknownWord } from './shell-words.ts'
import { variablesOf } from './shell-wrappers.ts'

/**
 * A simple command in any position: in a list, a loop, a substitution, after `sudo` or in `bash -c`.
 * `name`: the last part of its path, unquoted. Empty for redirects of a group or without a command.
 * `globs`: file name patterns among the undefined arguments, with `*` for each wildcard. Their matches are unknown, their
 * folder is not.
 */
export interface ShellCommand {
  readonly name: string
  readonly args: readonly (string | undefined)[]
  readonly globs: readonly string[]
  readonly redirects: readonly RedirectTarget[]
}

/** The file of a redirect. Undefined if it comes from an expansion. */
type RedirectTarget = string | undefined

export interface ShellReading {
  readonly commands: readonly ShellCommand[]
  readonly isUnknown: boolean
  readonly why?: ShellDoubt
}

const LONGEST = 65_536
/** The budget for nested texts in total, because each level of `$(…)` is parsed again. */
const MAX_READ = 6 * LONGEST
const MAX_WRAPPERS = 16
const MAX_LEVELS = 8

/**
 * Parses the commands of a shell text (POSIX and bash). Commands inside scripts, Makefiles, packages or files of other programs
 * are not visible. A rule based on this slows an agent down; only a sandbox stops it.
 */
export function readCommands(text: string): ShellReading {
  if (text.length > LONGEST) return { commands: [], isUnknown: true, why: 'it is too long' }
  const reader = new CommandReader()
  try {
    reader.read(text)
  } catch {
    // The parser recurses for each level: a text of thousands of prefixes exhausts the stack.
    reader.doubt('it cannot be parsed')
  }
  const { commands, why } = reader
  return why === undefined ? { commands, isUnknown: false } : { commands, isUnknown: true, why }
}

interface PendingNode {
  readonly node: SyntaxNode
  readonly level: number
  /** The text continues in an expansion, so a parse error in it means nothing. */
  readonly isCut: boolean
}

class CommandReader {
  readonly commands: ShellCommand[] = []
  why: ShellDoubt | undefined
  readonly #pending: PendingNode[] = []
  #left = MAX_READ

  doubt(why: ShellDoubt | undefined): void {
    this.why ??= why
  }

  read(text: string): void {
    const lines = text.replaceAll('\r\n', '\n')
    if (/[^\P{Cc}\t\n]/u.test(lines)) this.doubt('it holds a control character')
    // A terminal treats a lone carriage return as the end of a line.
    this.#parse(lines.replaceAll('\r', '\n'), 0, false)
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const at = this.#pending.length
      this.#visit(next)
      this.#pending.push(...this.#pending.splice(at).reverse())
    }
  }

  #parse(text: string, level: number, isCut: boolean): void {
    if (level > MAX_LEVELS) this.doubt('it is nested too deeply')
    else if (this.#consume(text.length)) this.#pending.push({ node: parse(text), level, isCut })
  }

  #consume(characters: number): boolean {
    this.#left -= characters
    if (this.#left < 0) this.doubt('it is nested too deeply')
    return this.#left >= 0
  }

  #visit({ node, level, isCut }: PendingNode): void {
    if (this.#visitNode(node, level, isCut))
      forEachChild(node, child => void this.#pending.push({ node: child, level, isCut }))
  }

  #visitNode(node: SyntaxNode, level: number, isCut: boolean): boolean {
    switch (node.type) {
      case 'Script':
        if (!isCut && ((node as ParsedScript).errors ?? []).length > 0) this.doubt('it cannot be parsed')
        return true
      case 'Command': {
        const redirects = filesOf(node.redirects)
        if (node.name === undefined) this.#addCommand('', [], redirects)
        else this.#addRuns([readWord(node.name), ...node.args.map(readWord)], redirects, level, 0)
        return true
      }
      case 'Redirected':
        this.#addCommand('', [], filesOf(node.redirects))
        return true
      case 'Assignment': {
        const values = node.value.type === 'Word' ? [node.value] : node.value.elements
        for (const value of values) this.#variable(node.name, readWord(value), level)
        return true
      }
      case 'For':
      case 'Select':
        this.#variable(node.name.value, unknownWord(), level)
        this.#checkSubscripts(node.wordlist?.map(readWord))
        return true
      case 'TestUnary':
        this.#checkSubscripts([readWord(node.operand)])
        return true
      case 'TestBinary':
        this.#checkSubscripts([node.left, node.right].map(readWord))
        return true
      case 'ArithmeticWord':
        this.#checkSubscripts([knownWord(node.value)])
        return true
      case 'Word':
        if (isWindowsWord(node.text)) this.doubt('it is a command of Windows')
        return true
      case 'SimpleExpansion':
        if (node.text === '$IFS') this.doubt('code is made while it runs')
        return true
      case 'ParameterExpansion': {
        const isPrompt = node.operation?.type === 'Transform' && node.operation.operand.value === 'P'
        if (isPrompt || node.parameter === 'IFS') this.doubt('code is made while it runs')
        return this.#consume(node.end - node.pos)
      }
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'ArithmeticExpansion':
      case 'ArithmeticCommandExpansion':
        return this.#consume(node.end - node.pos)
      default:
        return true
    }
  }

  #checkSubscripts(words: readonly ShellWord[] = []): void {
    if (words.some(holdsCodeInSubscript)) this.doubt('code is made while it runs')
  }

  #addCommand(name: string, words: readonly ShellWord[], redirects: readonly RedirectTarget[]): void {
    if (name === '' && redirects.length === 0) return
    const [args, globs] = [words.map(word => word.value), words.flatMap(word => word.glob ?? [])]
    this.commands.push({ name, args, globs, redirects })
  }

  #addRuns(words: readonly ShellWord[], redirects: readonly RedirectTarget[], level: number, wrappers: number): void {
    const inner = this.#addRun(words, redirects, level)
    if (inner.length > 0 && wrappers === MAX_WRAPPERS) this.doubt('it is nested too deeply')
    else for (const each of inner) this.#addRuns(each, [], level, wrappers + 1)
  }

  #addRun(words: readonly ShellWord[], redirects: readonly RedirectTarget[], level: number) {
    const [first, ...args] = words
    if (first === undefined) return []
    // zsh replaces `=name`, and runners replace `{}`.
    if (first.value === undefined || /^[={]/.test(first.value)) {
      this.doubt('the name of a command comes from an expansion')
      this.#addCommand('', [], redirects)
      return []
    }
    const name = first.value.slice(first.value.lastIndexOf('/') + 1)
    const key = name.toLowerCase()
    this.#addCommand(name, args, redirects)
    // Programs are rarely named like this: probably an unknown option of a wrapper was mistaken for the command.
    if (/^-./.test(name)) this.doubt('an option in front of a command is not known')
    if (isWindowsCommand(name) || args.some(word => hasWindowsSwitch(name, word.start)))
      this.doubt('it is a command of Windows')
    // Without `-v`, printf sets nothing: `printf 'HOME=%s'`.
    if (key !== 'printf' || args[0]?.start.startsWith('-v')) {
      // Subscripts are evaluated, even in a quoted name: `unset 'a[$(rm x)]'`.
      if (EVALUATING.has(key)) this.#checkSubscripts(args)
      if (changesReading(key, args)) this.doubt('a variable is set that changes what is run')
    }
    for (const variable of variablesOf(key, args)) this.#assigned(variable, level)
    const runs = runsOf(key, args)
    this.doubt(runs.doubt)
    for (const code of runs.code ?? []) this.#readCode(code, level)
    return runs.commands ?? []
  }

  #readCode(word: ShellWord, level: number): void {
    if (word.value === undefined) this.doubt('code is made while it runs')
    this.#parse(word.value ?? word.start, level + 1, word.value === undefined)
  }

  #assigned(word: ShellWord, level: number): void {
    const equals = word.start.indexOf('=')
    const start = word.start.slice(equals + 1)
    this.#variable(word.start.slice(0, equals), word.value === undefined ? unknownWord(start) : knownWord(start), level)
  }

  #variable(name: string, value: ShellWord, level: number): void {
    if (!COMMAND_VARIABLES.has(name)) this.doubt(variableDoubt(name, value))
    else if (value.start !== '') this.#readCode(value, level)
    else if (value.value === undefined) this.doubt('code is made while it runs')
  }
}

/** `2>&1` and `>&-` name no file. */
const DESCRIPTOR = /^(?:\d+-?|-)$/

function filesOf(redirects: readonly Redirection[]): RedirectTarget[] {
  return redirects.flatMap(redirect => {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return []
    const { operator, target } = redirect
    if (target.parts?.[0]?.type === 'ProcessSubstitution') return []
    const { value } = readWord(target)
    return operator.endsWith('&') && DESCRIPTOR.test(value ?? '') ? [] : [value]
  })
}

const COMMAND_VARIABLES = new Set([
  ...['PAGER', 'GIT_PAGER', 'MANPAGER', 'EDITOR', 'VISUAL', 'GIT_EDITOR', 'GIT_SEQUENCE_EDITOR', 'SUDO_EDITOR'],
  ...['GIT_SSH_COMMAND', 'GIT_SSH', 'GIT_ASKPASS', 'SSH_ASKPASS', 'GIT_EXTERNAL_DIFF', 'GIT_PROXY_COMMAND', 'BROWSER'],
  ...['PROMPT_COMMAND', 'RSYNC_RSH', 'LESSOPEN', 'LESSCLOSE', 'CVS_RSH', 'SVN_SSH', 'TAR_OPTIONS'],
])
const CHANGES_READING =
  /^(?:IFS|HOME|BASH_FUNC_.*|BASH_ALIASES|BASH_CMDS|GIT_CONFIG_.*|SHELLOPTS|BASHOPTS|GLOBIGNORE|PS[0-4])$/
const CODE_VARIABLES = /^(?:PERL5OPT|RUBYOPT|NODE_OPTIONS|PYTHONWARNINGS|PYTHONBREAKPOINT|BASH_ENV|ENV)$/
const CODE_LIKE = /-[eM]|data:|--(?:eval|import|require|loader)|[$`(]/

/** `word` is the value. Code in a quoted value runs if an arithmetic expression reads the variable. */
function variableDoubt(name: string, word: ShellWord): ShellDoubt | undefined {
  const mayRunCode = CODE_VARIABLES.test(name) && (word.value === undefined || CODE_LIKE.test(word.value))
  if (mayRunCode || CHANGES_READING.test(name)) return 'a variable is set that changes what is run'
  return holdsCodeInSubscript(word) ? 'code is made while it runs' : undefined
}

const EVALUATING = new Set([
  ...['let', 'declare', 'typeset', 'local', 'export', 'readonly', 'unset', 'read', 'printf', 'test', '[', 'wait'],
  ...['getopts', 'mapfile', 'readarray', 'shift', 'exit', 'return', 'break', 'continue', 'set'],
])

const SETTING = new Set(['read', 'mapfile', 'readarray', 'getopts', 'printf', 'unset', 'local', 'declare', 'typeset'])

function changesReading(name: string, args: readonly ShellWord[]): boolean {
  const nameIn = ({ start }: ShellWord): string => /^(?:-v)?([^[=+]*)/.exec(start)?.[1] ?? ''
  return SETTING.has(name) && args.some(word => CHANGES_READING.test(nameIn(word)))
}

function holdsCodeInSubscript(word: ShellWord): boolean {
  const at = word.start.indexOf('[')
  return at !== -1 && /\$\(|`/.test(word.start.slice(at))
}

const WINDOWS_NAMES = new Set(
  [
    'cmd powershell pwsh del erase rd copy xcopy robocopy move ren attrib icacls takeown diskpart',
    'reg schtasks wmic wscript cscript mshta rundll32 regsvr32 iex certutil bitsadmin vssadmin',
    'bcdedit iwr irm gci ri',
  ].flatMap(line => line.split(' ')),
)
const WINDOWS_PROGRAM = /\.(?:exe|bat|cmd|com|ps1|vbs|msi)$/
const CMDLET = /^[A-Z][a-z]+-[A-Z][A-Za-z]+$/
/** PowerShell ignores case. These names collide with no other tools, unlike `update-grub`. */
const CMDLET_IN_ANY_CASE =
  /^(?:(?:remove|clear|set|new|copy|move|rename|get)-(?:item|content|childitem|itemproperty|process|location)|invoke-(?:expression|command|item|webrequest|restmethod)|start-process|stop-process|out-file)$/i
const WINDOWS_PATH = /^(?:[A-Za-z]:\\|\\\\[\w.?-]+\\)/
const POWERSHELL_VARIABLE = /^\$env:/i

function isWindowsCommand(name: string): boolean {
  const plain = name.toLowerCase()
  return WINDOWS_NAMES.has(plain) || WINDOWS_PROGRAM.test(plain) || CMDLET.test(name) || CMDLET_IN_ANY_CASE.test(name)
}

function isWindowsWord(text: string): boolean {
  return WINDOWS_PATH.test(text.replace(/^["']/, '')) || POWERSHELL_VARIABLE.test(text)
}

function hasWindowsSwitch(name: string, text: string): boolean {
  return /^(?:rmdir|dir)$/i.test(name) && /^\/[a-z]$/i.test(text)
}

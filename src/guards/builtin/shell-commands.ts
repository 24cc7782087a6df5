import { type Command, forEachChild, type ParsedScript, parse, type Redirection, type SyntaxNode } from 'unbash'
import { runsOf } from './shell-runners.ts'
import type { ShellDoubt } from './shell-runs.ts'
import { changesReading, evaluates, holdsCodeInSubscript, variableRuns } from './shell-variables.ts'
import { hasWindowsSwitch, isWindowsCommand, isWindowsWord } from './shell-windows.ts'
import { knownWord, readWord, type ShellWord, unknownWord } from './shell-words.ts'
import { variablesOf } from './shell-wrappers.ts'

/** A simple command in any position: in a list, a loop, a substitution, after `sudo` or in `bash -c`. */
export interface ShellCommand {
  /** The last part of its path, unquoted. Empty for redirects of a group or without a command. */
  readonly name: string
  /** Unquoted, with the home directory as `~`. Undefined if the value depends on an expansion. */
  readonly args: readonly (string | undefined)[]
  /**
   * File name patterns among the undefined arguments, with `*` for each wildcard. Their matches are unknown, their folder is
   * not.
   */
  readonly globs: readonly string[]
  /** Redirects to files only, without descriptor copies and here-documents. */
  readonly redirects: readonly ShellRedirect[]
}

export interface ShellRedirect {
  readonly operator: string
  readonly target: string | undefined
}

export interface ShellReading {
  readonly commands: readonly ShellCommand[]
  /** The text may run more than these commands. */
  readonly isUnknown: boolean
  /** The first reason for doubt. Contains no part of the text. */
  readonly why?: ShellDoubt
}

/** In characters. */
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

interface Open {
  readonly node: SyntaxNode
  /** The nesting depth of text within text: `bash -c "bash -c '…'"`. */
  readonly level: number
  /** The text continues in an expansion, so a parse error in it means nothing. */
  readonly isCut: boolean
}

class CommandReader {
  readonly commands: ShellCommand[] = []
  why: ShellDoubt | undefined
  readonly #open: Open[] = []
  #left = MAX_READ

  doubt(why: ShellDoubt | undefined): void {
    this.why ??= why
  }

  read(text: string): void {
    const lines = text.replaceAll('\r\n', '\n')
    if (/[^\P{Cc}\t\n]/u.test(lines)) this.doubt('it holds a control character')
    // A terminal treats a lone carriage return as the end of a line.
    this.#parse(lines.replaceAll('\r', '\n'), 0, false)
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      const at = this.#open.length
      this.#visit(next)
      // Reverse the new entries, so that the stack yields them in text order.
      this.#open.push(...this.#open.splice(at).reverse())
    }
  }

  #parse(text: string, level: number, isCut: boolean): void {
    if (level > MAX_LEVELS) this.doubt('it is nested too deeply')
    else if (this.#affords(text.length)) this.#open.push({ node: parse(text), level, isCut })
  }

  #affords(characters: number): boolean {
    this.#left -= characters
    if (this.#left < 0) this.doubt('it is nested too deeply')
    return this.#left >= 0
  }

  #visit({ node, level, isCut }: Open): void {
    if (!this.#look(node, level, isCut)) return
    forEachChild(node, child => {
      this.#open.push({ node: child, level, isCut })
    })
  }

  /** @returns whether to visit the children */
  #look(node: SyntaxNode, level: number, isCut: boolean): boolean {
    switch (node.type) {
      case 'Script':
        if (!isCut && hasErrors(node)) this.doubt('it cannot be parsed')
        return true
      case 'Command':
        this.#command(node, level)
        return true
      case 'Redirected':
        this.#list({ name: '', args: [], globs: [], redirects: filesOf(node.redirects) })
        return true
      case 'Assignment': {
        const values = node.value.type === 'Word' ? [node.value] : node.value.elements
        for (const value of values) this.#variable(node.name, readWord(value), level)
        return true
      }
      case 'For':
      case 'Select':
        this.#variable(node.name.value, unknownWord(), level)
        if (node.wordlist?.some(word => holdsCodeInSubscript(readWord(word)))) {
          this.doubt('code is made while it runs')
        }
        return true
      case 'TestUnary':
        if (holdsCodeInSubscript(readWord(node.operand))) this.doubt('code is made while it runs')
        return true
      case 'TestBinary':
        if ([node.left, node.right].some(word => holdsCodeInSubscript(readWord(word)))) {
          this.doubt('code is made while it runs')
        }
        return true
      case 'ArithmeticWord':
        if (holdsCodeInSubscript(knownWord(node.value))) this.doubt('code is made while it runs')
        return true
      case 'Word':
        if (isWindowsWord(node.text)) this.doubt('it is a command of Windows')
        return true
      case 'SimpleExpansion':
        if (node.text === '$IFS') this.doubt('code is made while it runs')
        return true
      case 'ParameterExpansion':
        if (
          node.parameter === 'IFS' ||
          (node.operation?.type === 'Transform' && node.operation.operand.value === 'P')
        ) {
          this.doubt('code is made while it runs')
        }
        return this.#affords(node.end - node.pos)
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'ArithmeticExpansion':
      case 'ArithmeticCommandExpansion':
        return this.#affords(node.end - node.pos)
      default:
        return true
    }
  }

  #list(command: ShellCommand): void {
    if (command.name !== '' || command.redirects.length > 0) this.commands.push(command)
  }

  #command(node: Command, level: number): void {
    const redirects = filesOf(node.redirects)
    if (node.name === undefined) this.#list({ name: '', args: [], globs: [], redirects })
    else this.#runs([readWord(node.name), ...node.args.map(readWord)], redirects, level, 0)
  }

  #runs(words: readonly ShellWord[], redirects: readonly ShellRedirect[], level: number, wrappers: number): void {
    const inner = this.#run(words, redirects, level)
    if (inner.length > 0 && wrappers === MAX_WRAPPERS) this.doubt('it is nested too deeply')
    else for (const each of inner) this.#runs(each, [], level, wrappers + 1)
  }

  /** Records a command and returns the commands among its own words. */
  #run(
    words: readonly ShellWord[],
    redirects: readonly ShellRedirect[],
    level: number,
  ): readonly (readonly ShellWord[])[] {
    const [first, ...args] = words
    if (first === undefined) return []
    // zsh replaces `=name`, and runners replace `{}`.
    if (first.value === undefined || /^[={]/.test(first.value)) {
      this.doubt('the name of a command comes from an expansion')
      this.#list({ name: '', args: [], globs: [], redirects })
      return []
    }
    const name = first.value.slice(first.value.lastIndexOf('/') + 1)
    const key = name.toLowerCase()
    this.#list({ name, args: args.map(word => word.value), globs: args.flatMap(word => word.glob ?? []), redirects })
    // Programs are rarely named like this: probably an unknown option of a wrapper was mistaken for the command.
    if (/^-./.test(name)) this.doubt('an option in front of a command is not known')
    if (isWindowsCommand(name) || args.some(word => hasWindowsSwitch(name, word.start))) {
      this.doubt('it is a command of Windows')
    }
    if (evaluates(key, args)) this.doubt('code is made while it runs')
    if (changesReading(key, args)) this.doubt('a variable is set that changes what is run')
    for (const variable of variablesOf(key, args)) this.#assigned(variable, level)
    const runs = runsOf(key, args)
    this.doubt(runs.doubt)
    for (const code of runs.code ?? []) this.#code(code, level)
    return runs.commands ?? []
  }

  #code(word: ShellWord, level: number): void {
    if (word.value === undefined) this.doubt('code is made while it runs')
    this.#parse(word.value ?? word.start, level + 1, word.value === undefined)
  }

  #assigned(word: ShellWord, level: number): void {
    const equals = word.start.indexOf('=')
    const start = word.start.slice(equals + 1)
    this.#variable(word.start.slice(0, equals), word.value === undefined ? unknownWord(start) : knownWord(start), level)
  }

  #variable(name: string, value: ShellWord, level: number): void {
    const { code, doubt } = variableRuns(name, value)
    this.doubt(doubt)
    if (code !== undefined && code.start !== '') this.#code(code, level)
    else if (code !== undefined && code.value === undefined) this.doubt('code is made while it runs')
  }
}

function hasErrors(node: SyntaxNode): boolean {
  return ((node as ParsedScript).errors ?? []).length > 0
}

/** `2>&1` and `>&-` name no file. */
const DESCRIPTOR = /^(?:\d+-?|-)$/

function filesOf(redirects: readonly Redirection[]): ShellRedirect[] {
  return redirects.flatMap(redirect => {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return []
    const { operator, target } = redirect
    if (target.parts?.[0]?.type === 'ProcessSubstitution') return []
    const { value } = readWord(target)
    return operator.endsWith('&') && DESCRIPTOR.test(value ?? '') ? [] : [{ operator, target: value }]
  })
}

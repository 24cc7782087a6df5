import { readOptions } from './shell-options.ts'
import { doubtful, RUNS_NOTHING, type ShellRuns, unsure } from './shell-runs.ts'
import type { ShellWord } from './shell-words.ts'

/** Programs that run code from their arguments or their standard input. */

const SHELLS = new Set(['sh', 'bash', 'rbash', 'dash', 'ash', 'zsh', 'ksh', 'mksh', 'pdksh', 'yash', 'posh'])
/** Shells with another grammar, which the parser cannot read. */
const FOREIGN_SHELLS = new Set(['fish', 'csh', 'tcsh', 'nu', 'xonsh', 'elvish', 'rc', 'es'])
const SHELL_OPTIONS = {
  short: 'abcefghiklmnprstuvxyBCDEFGHNPTXo:O:',
  long: 'login norc noprofile posix restricted verbose noediting debugger dump-strings rcfile= init-file= version help',
}
const STANDARD_INPUT = /^(?:-|\/dev\/stdin|\/dev\/fd\/\d+|\/proc\/self\/fd\/\d+)$/

interface Interpreter {
  readonly inline: RegExp
  /** An option whose value is the next word. */
  readonly valued?: RegExp
  /** An option with which no file is needed. */
  readonly enough?: RegExp
  /** Without a file, the interpreter does not run its standard input. */
  readonly isQuiet?: true
}

const ENOUGH = /^--?(?:version|help|[Vvh])$/

const INTERPRETERS: Readonly<Record<string, Interpreter>> = {
  python: { inline: /^-[a-ln-zA-LN-VYZ]*c/, valued: /^-[bBdEhiIOPqRsSuvVx?]*[WX]$/, enough: /^-[bBdEiIOPqRsSuvx]*m/ },
  node: {
    inline: /^-[a-z]*[ep]|^--(?:eval|print)|(?:^|=)data:/,
    valued: /^(?:-[rC]|--(?:require|import|loader|conditions|env-file|experimental-loader))$/,
    enough: /^--(?:test|run|v8-options|build-snapshot)/,
  },
  deno: { inline: /^(?:eval|repl|-)$|^(?:data|https?):/ },
  bun: { inline: /^(?:-[ep]|--eval|--print|repl|-)$/ },
  tsx: { inline: /^-[a-z]*[ep]|^--(?:eval|print)/ },
  'ts-node': { inline: /^-[a-z]*[ep]|^--(?:eval|print)/, valued: /^(?:-[POCr]|--(?:project|require))$/ },
  perl: { inline: /^-[acdFfgilnpsStTuUvwWX0-9.]*[eE]/ },
  ruby: { inline: /^-[aclnpsSvwWxi0-9.]*e/, valued: /^-[rIC]$/ },
  php: { inline: /^-[rRBE]|^--(?:run|process)/, valued: /^-[dcz]$/, enough: /^-[Simlv]/ },
  lua: { inline: /^-[a-z]*e/, valued: /^-l$/ },
  luajit: { inline: /^-[a-z]*e/, valued: /^-[lj]$/ },
  rscript: { inline: /^-e/ },
  r: { inline: /^-e/, enough: /^CMD$/ },
  julia: { inline: /^-[eE]|^--(?:eval|print)/ },
  elixir: { inline: /^-e|^--(?:eval|rpc-eval)/ },
  erl: { inline: /^-(?:eval|run|s)$/ },
  groovy: { inline: /^-e/ },
  scala: { inline: /^-e/ },
  swift: { inline: /^-e/, enough: /^(?:build|test|run|package)$/ },
  osascript: { inline: /^-e/ },
  tclsh: { inline: /^$/ },
  expect: { inline: /^-[a-z]*c/ },
  racket: { inline: /^-e|^--eval/ },
  guile: { inline: /^-c/ },
  emacs: { inline: /^--?(?:eval|execute|funcall|f)/, isQuiet: true },
  vi: { inline: /^(?:-c|--cmd|-[a-zA-Z]*s$)|^\+./, isQuiet: true },
  gdb: { inline: /^--?(?:ex|eval-command|iex)/, isQuiet: true },
  sqlite: { inline: /^-cmd$|^\.(?:sh|sy)/, isQuiet: true },
}

const SAME_AS: Readonly<Record<string, string>> = {
  pypy: 'python',
  ipython: 'python',
  nodejs: 'node',
  vim: 'vi',
  nvim: 'vi',
  ex: 'vi',
  view: 'vi',
  vimdiff: 'vi',
}

/** The code that a shell or an interpreter runs; undefined for another program. `name` is lower case and without a version. */
export function interpreted(name: string, args: readonly ShellWord[]): ShellRuns | undefined {
  if (SHELLS.has(name)) return byShell(args)
  if (FOREIGN_SHELLS.has(name)) return doubtful('code is handed to an interpreter')
  if (/^[gmn]?awk$/.test(name)) return byAwk(args)
  if (/^g?sed$/.test(name)) return bySed(args)
  const key = SAME_AS[name] ?? name
  const interpreter = Object.hasOwn(INTERPRETERS, key) ? INTERPRETERS[key] : undefined
  return interpreter === undefined ? undefined : byInterpreter(interpreter, args)
}

function byShell(args: readonly ShellWord[]): ShellRuns {
  const dashed = args.map(word => (/^\+./.test(word.start) ? { value: '-x', start: '-x' } : word))
  const read = readOptions(dashed, SHELL_OPTIONS)
  const [first] = read.operands
  if (read.options.has('version') || read.options.has('help')) return RUNS_NOTHING
  if (read.options.has('c') && first !== undefined) {
    return { code: [first], doubt: first.value === undefined ? 'code is made while it runs' : unsure(read) }
  }
  if (first?.value === undefined || read.options.has('s') || STANDARD_INPUT.test(first.value)) {
    return doubtful('a shell or an interpreter reads what to run')
  }
  return { doubt: unsure(read) }
}

function byInterpreter(interpreter: Interpreter, args: readonly ShellWord[]): ShellRuns {
  const enough = interpreter.isQuiet ? /^/ : (interpreter.enough ?? ENOUGH)
  for (let at = 0; at < args.length; at++) {
    const { value } = args[at] as ShellWord
    if (value === undefined) return interpreter.isQuiet ? RUNS_NOTHING : doubtful('code is made while it runs')
    if (interpreter.inline.test(value)) return doubtful('code is handed to an interpreter')
    if (STANDARD_INPUT.test(value)) break
    if (interpreter.isQuiet) continue
    if (enough.test(value) || ENOUGH.test(value) || !value.startsWith('-')) return RUNS_NOTHING
    if (interpreter.valued?.test(value)) {
      at++
      if (interpreter.inline.test(args[at]?.start ?? '')) return doubtful('code is handed to an interpreter')
    }
  }
  return interpreter.isQuiet ? RUNS_NOTHING : doubtful('a shell or an interpreter reads what to run')
}

const AWK_RUNS = /\bsystem\b|\|&|\|\s*(?:["(]|getline|\w+\s*(?:[;}\n]|$))|@load/
const AWK_OPTIONS = {
  short: 'F:v:f:e:i:E:l:bcCghMnNOPrsStVd::o::p::D::L::',
  long: 'field-separator= assign= file= source= include= exec= load= posix re-interval sandbox version help csv',
}

function byAwk(args: readonly ShellWord[]): ShellRuns {
  const read = readOptions(args, AWK_OPTIONS)
  const { options, operands } = read
  const given = ['e', 'source'].flatMap(each => options.get(each) ?? [])
  const isFile = ['f', 'file', 'E', 'exec'].some(each => options.has(each))
  const programs = isFile ? given : given.length > 0 ? given : operands.slice(0, 1)
  return withProgram(programs, AWK_RUNS) ?? { doubt: unsure(read) }
}

/** `e` as a command, with or without an address in front, or as a flag of `s`. */
const SED_RUNS = /(?:^|[\s;{}\d$,/!])e(?:[\s;}]|$)|[^\w\s][gpiImM\d]*e[gpiImM\d]*(?:[\s;}]|$|w)/
const SED_OPTIONS = {
  short: 'nrEszubl:i::e:f:',
  long: 'quiet silent debug expression= file= follow-symlinks in-place=? line-length= posix regexp-extended separate sandbox unbuffered null-data version help',
}

function bySed(args: readonly ShellWord[]): ShellRuns {
  const read = readOptions(args, SED_OPTIONS)
  const { options, operands } = read
  const given = ['e', 'expression'].flatMap(each => options.get(each) ?? [])
  const isFile = options.has('f') || options.has('file')
  return withProgram(isFile || given.length > 0 ? given : operands.slice(0, 1), SED_RUNS) ?? { doubt: unsure(read) }
}

function withProgram(programs: readonly ShellWord[], runs: RegExp): ShellRuns | undefined {
  if (programs.some(each => each.value !== undefined && runs.test(each.value))) {
    return doubtful('code is handed to an interpreter')
  }
  return programs.some(each => each.value === undefined) ? doubtful('code is made while it runs') : undefined
}

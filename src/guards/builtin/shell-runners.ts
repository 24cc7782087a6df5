import { type CodeOptions, codeIn, mayBeOption, type OptionSpec, readOptions } from './shell-options.ts'
import type { ShellRuns, ShellWord } from './shell-words.ts'
import { asText, doubtful, knownWord, optionDoubt, RUNS_NOTHING, rowsByName, unknownWord } from './shell-words.ts'
import { byPackageManager, wrapped, XARGS } from './shell-wrappers.ts'

type Runner = (args: readonly ShellWord[]) => ShellRuns

const RUNNERS = rowsByName<Runner>({
  '. source': sourced,
  alias: args => (args.length === 0 ? RUNS_NOTHING : doubtful('names of commands are given another meaning')),
  hash: withOption(/^-[a-z]*p/, 'names of commands are given another meaning'),
  enable: withOption(/^-[a-z]*f/, 'names of commands are given another meaning'),
  bind: withOption(/^-[a-z]*x/, 'code is handed to an interpreter'),
  compgen: withOption(/^-[CF]/, 'code is handed to an interpreter'),
  'mapfile readarray': withOption(/^-[a-z]*C/, 'code is handed to an interpreter'),
  'fc at batch': readsCommands,
  eval: args => ({ code: [asText(args[0]?.value === '--' ? args.slice(1) : args)] }),
  trap,
  git: byGit,
  'find gfind': find,
  'fd fdfind': withCommand(/^(?:-[xX]|--exec|--exec-batch)$/),
  'xargs gxargs': xargs,
  parallel,
  entr: args => ({ commands: [args.slice(args.findIndex(word => !word.start.startsWith('-')))] }),
  'su runuser': byUser,
  ssh: bySsh,
  'docker podman nerdctl docker-compose': withDoubt(/^(?:exec|run)$/),
  kubectl: withDoubt(/^(?:exec|run|debug)$/),
  oc: withDoubt(/^(?:exec|run|rsh|debug)$/),
  lxc: withDoubt(/^exec$/),
  vagrant: withDoubt(/^ssh$/),
  'wsl nsenter mosh tmux screen': elsewhere,
})

const CODE_OPTIONS = rowsByName<CodeOptions>({
  'tar gtar': {
    short: 'I F',
    valued: 'fbgCTXKLNVH',
    long: 'to-command use-compress-program rsh-command info-script new-volume-script checkpoint-action',
    prefixed: { 'checkpoint-action': 'exec=' },
    isOldStyle: true,
  },
  bsdtar: { long: 'use-compress-program' },
  rsync: { short: 'e', valued: 'fBTM@', long: 'rsh rsync-path' },
  rg: { long: 'pre hostname-bin' },
  sort: { long: 'compress-program' },
  split: { long: 'filter' },
  man: { short: 'P H?', valued: 'CRLmMSserEpTX', long: 'pager html?' },
  scp: { short: 'S D', valued: 'cFiJloPX' },
  sftp: { short: 'S D', valued: 'BbcFiJloPRsX' },
  zip: { short: 'TT', long: 'unzip-command' },
})

export function runsOf(name: string, args: readonly ShellWord[]): ShellRuns {
  const runs = RUNNERS.get(name)?.(args) ?? byPackageManager(name, args) ?? RUNS_NOTHING
  if (runs !== RUNS_NOTHING) return runs
  const options = CODE_OPTIONS.get(name)
  if (options !== undefined) return { code: codeIn(args, options) }
  return wrapped(name, args) ?? interpreted(name.replace(/-?[\d.]+$/, ''), args) ?? RUNS_NOTHING
}

function sourced(): ShellRuns {
  return doubtful('a file of commands is sourced')
}

function readsCommands(): ShellRuns {
  return doubtful('a shell or an interpreter reads what to run')
}

function withOption(option: RegExp, doubt: NonNullable<ShellRuns['doubt']>): Runner {
  return args => (args.some(word => option.test(word.start)) ? doubtful(doubt) : RUNS_NOTHING)
}

function withDoubt(subcommand: RegExp): Runner {
  return args => {
    const first = args.find(word => !word.start.startsWith('-'))
    const isOpen = first !== undefined && first.value === undefined
    const isElsewhere = isOpen || args.some(word => subcommand.test(word.value ?? ''))
    return isElsewhere ? doubtful('it runs somewhere else') : RUNS_NOTHING
  }
}

function elsewhere(args: readonly ShellWord[]): ShellRuns {
  return args.length === 0 || /^(?:-V|--version)$/.test(args[0]?.start ?? '')
    ? RUNS_NOTHING
    : doubtful('it runs somewhere else')
}

const SSH_OPTIONS = { short: '46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:' }

function bySsh(args: readonly ShellWord[]): ShellRuns {
  const remote = readOptions(args, SSH_OPTIONS).operands.slice(1)
  return { ...elsewhere(args), ...(remote.length > 0 ? { code: [asText(remote)] } : {}) }
}

function trap(args: readonly ShellWord[]): ShellRuns {
  const [first, ...signals] = args[0]?.value === '--' ? args.slice(1) : args
  if (first === undefined || signals.length === 0 || first.value === '-' || /^-[lp]/.test(first.start))
    return RUNS_NOTHING
  return { code: [first] }
}

const FIND_RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir'])

function find(args: readonly ShellWord[]): ShellRuns {
  const commands: ShellWord[][] = []
  const doubt = args.some(mayBeOption) ? 'code is made while it runs' : undefined
  for (let at = 0; at < args.length; at++) {
    if (!FIND_RUNS.has(args[at]?.value ?? '')) continue
    const begin = at + 1
    while (at < args.length && !endsFind(args, at)) at++
    commands.push(args.slice(begin, at).map(each => filled(each, '{}')))
  }
  return { commands, doubt }
}

function endsFind(args: readonly ShellWord[], at: number): boolean {
  const value = args[at]?.value
  return value === ';' || (value === '+' && args[at - 1]?.value === '{}')
}

/** A word that the runner substitutes is unknown: `find -exec rm {} +`. */
function filled(word: ShellWord, mark: string): ShellWord {
  if (mark === '' || !word.start.includes(mark)) return word
  return unknownWord(word.start.slice(0, word.start.indexOf(mark)))
}

function withCommand(option: RegExp): Runner {
  return args => {
    const at = args.findIndex(word => option.test(word.value ?? ''))
    if (at !== -1) return { commands: [[...args.slice(at + 1).map(word => filled(word, '{')), unknownWord()]] }
    return args.some(word => /^(?:-[a-zA-Z]*[xX]|--exec)/.test(word.start))
      ? doubtful('an option in front of a command is not known')
      : RUNS_NOTHING
  }
}

function xargs(args: readonly ShellWord[]): ShellRuns {
  const runs = wrapped('xargs', args) ?? RUNS_NOTHING
  const { options } = readOptions(args, XARGS)
  const [mark] = ['I', 'i', 'replace', 'J'].flatMap(name => options.get(name) ?? [])
  const commands = (runs.commands ?? []).filter(words => words.length > 0)
  return {
    ...runs,
    commands: commands.map(words => [...words.map(word => filled(word, mark?.value ?? '{}')), unknownWord()]),
  }
}

function parallel(args: readonly ShellWord[]): ShellRuns {
  const end = args.findIndex(word => /^:{3,4}\+?$/.test(word.value ?? ''))
  const read = readOptions(end === -1 ? args : args.slice(0, end), {
    short: 'kj:P:I:n:N:L:S:C:d:a:0qmXuvt',
    long: 'keep-order jobs= max-procs= halt= bar progress eta joblog= dry-run tag line-buffer ungroup will-cite no-notice null colsep= delimiter= arg-file= quote timeout= retries= results= max-args= resume verbose',
  })
  if (read.operands.length === 0) return readsCommands()
  const doubt = read.options.has('S') ? 'it runs somewhere else' : optionDoubt(read)
  return { code: [asText([...read.operands, knownWord('"$@"')])], doubt }
}

function byUser(args: readonly ShellWord[]): ShellRuns {
  const code = codeIn(args, { short: 'c', valued: 'gGsuw', long: 'command session-command' })
  if (code.length > 0) return { code }
  const at = args.findIndex(word => /^(?:-u|--user)$/.test(word.value ?? ''))
  const rest = args.slice(at + 2)
  if (at === -1 || rest.length === 0) return readsCommands()
  return { commands: [rest[0]?.value === '--' ? rest.slice(1) : rest] }
}

/** The ways in which git runs commands from its arguments. Files of git (hooks, aliases, attributes) are not inspected. */

const GIT_OPTIONS = {
  short: 'vhpPC:c:',
  long: 'version help paginate no-pager exec-path=? html-path man-path info-path git-dir= work-tree= namespace= bare config-env= no-replace-objects no-lazy-fetch no-optional-locks no-advice literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs attr-source= super-prefix= list-cmds=',
}

const NAMES_COMMAND =
  /^alias\.|(?:command|pager|editor|program|helper|cmd|hookspath|fsmonitor|textconv|process|clean|smudge|askpass|browser|driver|external|proxy|uploadpack|receivepack|path|tool|man\.viewer)$/i
const HARMLESS = /^(?:|cat|true|false|less|0|1)$/

function byGit(args: readonly ShellWord[]): ShellRuns {
  const read = readOptions(args, GIT_OPTIONS)
  const { options, operands } = read
  const isChanged = options.has('config-env') || (options.get('exec-path') ?? []).length > 0
  if (isChanged || (options.get('c') ?? []).some(setsCommand)) return doubtful('a setting of git names a command')
  const [subcommand, ...rest] = operands
  if (subcommand === undefined) return RUNS_NOTHING
  if (subcommand.value === undefined) return doubtful('the name of a command comes from an expansion')
  return {
    doubt: optionDoubt(read),
    code: codeIn(rest, GIT_CODE_OPTIONS.get(subcommand.value) ?? {}),
    ...byGitSubcommand(subcommand.value, rest),
  }
}

function setsCommand(word: ShellWord): boolean {
  const equals = word.start.indexOf('=')
  if (equals === -1) return word.value === undefined || NAMES_COMMAND.test(word.value)
  const key = word.start.slice(0, equals)
  return NAMES_COMMAND.test(key) && !HARMLESS.test(word.value?.slice(equals + 1) ?? 'unknown')
}

function byGitSubcommand(subcommand: string, args: readonly ShellWord[]): ShellRuns {
  switch (subcommand) {
    case 'bisect':
      return args[0]?.value === 'run' ? { commands: [args.slice(1)] } : RUNS_NOTHING
    case 'submodule': {
      const at = args.findIndex(word => word.value === 'foreach')
      const command = args.slice(at + 1).filter(word => !/^(?:--recursive|--quiet|-q)$/.test(word.start))
      return at === -1 ? RUNS_NOTHING : { code: [asText(command)] }
    }
    case 'filter-branch':
      return doubtful('a setting of git names a command')
    case 'config':
      return byGitConfig(args)
    default:
      return RUNS_NOTHING
  }
}

const READS_CONFIG = /^(?:get|list|unset|--get.*|--list|-l|--unset.*|--remove-section)$/

function byGitConfig(args: readonly ShellWord[]): ShellRuns {
  if (args.some(word => READS_CONFIG.test(word.start))) return RUNS_NOTHING
  const at = args.findIndex(word => word.value === undefined || NAMES_COMMAND.test(word.value))
  const value = args[at + 1]
  if (at === -1 || (value === undefined && args[at]?.value !== undefined)) return RUNS_NOTHING
  return HARMLESS.test(value?.value ?? 'unknown') ? RUNS_NOTHING : doubtful('a setting of git names a command')
}

const GIT_CODE_OPTIONS = rowsByName<CodeOptions>({
  rebase: { short: 'x', valued: 'sXCS', long: 'exec' },
  difftool: { short: 'x', valued: 'tSGOU', long: 'extcmd' },
  grep: { short: 'O?', valued: 'efABCm', long: 'open-files-in-pager?' },
  'fetch pull': { long: 'upload-pack' },
  clone: { short: 'u', valued: 'obcj', long: 'upload-pack' },
  push: { long: 'receive-pack exec' },
  'ls-remote': { long: 'upload-pack exec' },
  archive: { long: 'exec' },
})

const SHELLS = new Set(['sh', 'bash', 'rbash', 'dash', 'ash', 'zsh', 'ksh', 'mksh', 'pdksh', 'yash', 'posh'])
const FOREIGN_SHELLS = new Set(['fish', 'csh', 'tcsh', 'nu', 'xonsh', 'elvish', 'rc', 'es'])
const SHELL_OPTIONS = {
  short: 'abcefghiklmnprstuvxyBCDEFGHNPTXo:O:',
  long: 'login norc noprofile posix restricted verbose noediting debugger dump-strings rcfile= init-file= version help',
}
const STANDARD_INPUT = /^(?:-|\/dev\/stdin|\/dev\/fd\/\d+|\/proc\/self\/fd\/\d+)$/

interface Interpreter {
  readonly inline: RegExp
  readonly valued?: RegExp
  readonly enough?: RegExp
  /** Without a file, the interpreter does not run its standard input. */
  readonly isQuiet?: true
}

const NO_FILE_NEEDED = /^--?(?:version|help|[Vvh])$/

const INTERPRETERS = rowsByName<Interpreter>({
  'python pypy ipython': {
    inline: /^-[a-ln-zA-LN-VYZ]*c/,
    valued: /^-[bBdEhiIOPqRsSuvVx?]*[WX]$/,
    enough: /^-[bBdEiIOPqRsSuvx]*m/,
  },
  'node nodejs': {
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
  'rscript groovy scala osascript': { inline: /^-e/ },
  r: { inline: /^-e/, enough: /^CMD$/ },
  julia: { inline: /^-[eE]|^--(?:eval|print)/ },
  elixir: { inline: /^-e|^--(?:eval|rpc-eval)/ },
  erl: { inline: /^-(?:eval|run|s)$/ },
  swift: { inline: /^-e/, enough: /^(?:build|test|run|package)$/ },
  tclsh: { inline: /^$/ },
  expect: { inline: /^-[a-z]*c/ },
  racket: { inline: /^-e|^--eval/ },
  guile: { inline: /^-c/ },
  emacs: { inline: /^--?(?:eval|execute|funcall|f)/, isQuiet: true },
  'vi vim nvim ex view vimdiff': { inline: /^(?:-c|--cmd|-[a-zA-Z]*s$)|^\+./, isQuiet: true },
  gdb: { inline: /^--?(?:ex|eval-command|iex)/, isQuiet: true },
  sqlite: { inline: /^-cmd$|^\.(?:sh|sy)/, isQuiet: true },
})

function interpreted(name: string, args: readonly ShellWord[]): ShellRuns | undefined {
  if (SHELLS.has(name)) return byShell(args)
  if (FOREIGN_SHELLS.has(name)) return doubtful('code is handed to an interpreter')
  if (/^[gmn]?awk$/.test(name)) return byProgram(AWK, args)
  if (/^g?sed$/.test(name)) return byProgram(SED, args)
  const interpreter = INTERPRETERS.get(name)
  return interpreter && byInterpreter(interpreter, args)
}

function byShell(args: readonly ShellWord[]): ShellRuns {
  const dashed = args.map(word => (/^\+./.test(word.start) ? { value: '-x', start: '-x' } : word))
  const read = readOptions(dashed, SHELL_OPTIONS)
  const [first] = read.operands
  if (read.options.has('version') || read.options.has('help')) return RUNS_NOTHING
  if (read.options.has('c') && first !== undefined)
    return { code: [first], doubt: first.value === undefined ? 'code is made while it runs' : optionDoubt(read) }
  if (first?.value === undefined || read.options.has('s') || STANDARD_INPUT.test(first.value)) return readsCommands()
  return { doubt: optionDoubt(read) }
}

function byInterpreter(interpreter: Interpreter, args: readonly ShellWord[]): ShellRuns {
  const enough = interpreter.isQuiet ? /^/ : (interpreter.enough ?? NO_FILE_NEEDED)
  for (let at = 0; at < args.length; at++) {
    const { value } = args[at] as ShellWord
    if (value === undefined) return interpreter.isQuiet ? RUNS_NOTHING : doubtful('code is made while it runs')
    if (interpreter.inline.test(value)) return doubtful('code is handed to an interpreter')
    if (STANDARD_INPUT.test(value)) break
    if (interpreter.isQuiet) continue
    if (enough.test(value) || NO_FILE_NEEDED.test(value) || !value.startsWith('-')) return RUNS_NOTHING
    if (interpreter.valued?.test(value)) {
      at++
      if (interpreter.inline.test(args[at]?.start ?? '')) return doubtful('code is handed to an interpreter')
    }
  }
  return interpreter.isQuiet ? RUNS_NOTHING : readsCommands()
}

/** An interpreter of a small language. Without options of `programs` or `files`, the first operand is the program. */
interface ProgramReader extends OptionSpec {
  readonly programs: readonly string[]
  readonly files: readonly string[]
  readonly runs: RegExp
}

const AWK: ProgramReader = {
  short: 'F:v:f:e:i:E:l:bcCghMnNOPrsStVd::o::p::D::L::',
  long: 'field-separator= assign= file= source= include= exec= load= posix re-interval sandbox version help csv',
  programs: ['e', 'source'],
  files: ['f', 'file', 'E', 'exec'],
  runs: /\bsystem\b|\|&|\|\s*(?:["(]|getline|\w+\s*(?:[;}\n]|$))|@load/,
}

const SED: ProgramReader = {
  short: 'nrEszubl:i::e:f:',
  long: 'quiet silent debug expression= file= follow-symlinks in-place=? line-length= posix regexp-extended separate sandbox unbuffered null-data version help',
  programs: ['e', 'expression'],
  files: ['f', 'file'],
  // `e` as a command, with or without an address in front, or as a flag of `s`.
  runs: /(?:^|[\s;{}\d$,/!])e(?:[\s;}]|$)|[^\w\s][gpiImM\d]*e[gpiImM\d]*(?:[\s;}]|$|w)/,
}

function byProgram(reader: ProgramReader, args: readonly ShellWord[]): ShellRuns {
  const read = readOptions(args, reader)
  const given = reader.programs.flatMap(name => read.options.get(name) ?? [])
  const isGiven = given.length > 0 || reader.files.some(name => read.options.has(name))
  const programs = (isGiven ? given : read.operands.slice(0, 1)).map(({ value }) => value)
  if (programs.some(text => text !== undefined && reader.runs.test(text)))
    return doubtful('code is handed to an interpreter')
  return { doubt: programs.includes(undefined) ? 'code is made while it runs' : optionDoubt(read) }
}

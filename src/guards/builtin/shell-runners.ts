import { type CodeOptions, codeIn } from './shell-code-options.ts'
import { byGit } from './shell-git.ts'
import { interpreted } from './shell-interpreters.ts'
import { mayBeOption, readOptions } from './shell-options.ts'
import { asText, doubtful, RUNS_NOTHING, type ShellRuns, unsure } from './shell-runs.ts'
import { bySubcommand } from './shell-subcommands.ts'
import { knownWord, type ShellWord, unknownWord } from './shell-words.ts'
import { wrapped } from './shell-wrappers.ts'

/** A program that runs others in a way that an option list in front of a command cannot describe. */

type Runner = (args: readonly ShellWord[]) => ShellRuns

const RUNNERS: Readonly<Record<string, Runner>> = {
  '.': () => doubtful('a file of commands is sourced'),
  source: () => doubtful('a file of commands is sourced'),
  alias: args => (args.length === 0 ? RUNS_NOTHING : doubtful('names of commands are given another meaning')),
  hash: withOption(/^-[a-z]*p/, 'names of commands are given another meaning'),
  enable: withOption(/^-[a-z]*f/, 'names of commands are given another meaning'),
  bind: withOption(/^-[a-z]*x/, 'code is handed to an interpreter'),
  compgen: withOption(/^-[CF]/, 'code is handed to an interpreter'),
  mapfile: withOption(/^-[a-z]*C/, 'code is handed to an interpreter'),
  readarray: withOption(/^-[a-z]*C/, 'code is handed to an interpreter'),
  fc: () => doubtful('a shell or an interpreter reads what to run'),
  at: () => doubtful('a shell or an interpreter reads what to run'),
  batch: () => doubtful('a shell or an interpreter reads what to run'),
  eval: args => ({ code: [asText(args[0]?.value === '--' ? args.slice(1) : args)] }),
  trap,
  git: byGit,
  find,
  gfind: find,
  fd: withCommand(/^(?:-[xX]|--exec|--exec-batch)$/),
  fdfind: withCommand(/^(?:-[xX]|--exec|--exec-batch)$/),
  xargs,
  gxargs: xargs,
  parallel,
  entr: args => ({ commands: [args.slice(args.findIndex(word => !word.start.startsWith('-')))] }),
  su: byUser,
  runuser: byUser,
  ssh: bySsh,
  docker: withDoubt(/^(?:exec|run)$/),
  podman: withDoubt(/^(?:exec|run)$/),
  nerdctl: withDoubt(/^(?:exec|run)$/),
  'docker-compose': withDoubt(/^(?:exec|run)$/),
  kubectl: withDoubt(/^(?:exec|run|debug)$/),
  oc: withDoubt(/^(?:exec|run|rsh|debug)$/),
  lxc: withDoubt(/^exec$/),
  vagrant: withDoubt(/^ssh$/),
  wsl: elsewhere,
  nsenter: elsewhere,
  mosh: elsewhere,
  tmux: elsewhere,
  screen: elsewhere,
}

const TAR: CodeOptions = {
  short: 'I F',
  valued: 'fbgCTXKLNVH',
  long: 'to-command use-compress-program rsh-command info-script new-volume-script checkpoint-action',
  prefixed: { 'checkpoint-action': 'exec=' },
  isOldStyle: true,
}

/** Options of other programs whose value is passed to a shell. */
const CODE_OPTIONS: Readonly<Record<string, CodeOptions>> = {
  tar: TAR,
  gtar: TAR,
  bsdtar: { long: 'use-compress-program' },
  rsync: { short: 'e', valued: 'fBTM@', long: 'rsh rsync-path' },
  rg: { long: 'pre hostname-bin' },
  sort: { long: 'compress-program' },
  split: { long: 'filter' },
  man: { short: 'P H?', valued: 'CRLmMSserEpTX', long: 'pager html?' },
  scp: { short: 'S D', valued: 'cFiJloPX' },
  sftp: { short: 'S D', valued: 'BbcFiJloPRsX' },
  zip: { short: 'TT', long: 'unzip-command' },
}

/** The commands and code that a program runs. `name` is lower case. */
export function runsOf(name: string, args: readonly ShellWord[]): ShellRuns {
  const runner = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined
  const runs = runner?.(args) ?? bySubcommand(name, args) ?? RUNS_NOTHING
  if (runs !== RUNS_NOTHING) return runs
  const plain = name.replace(/-?[\d.]+$/, '')
  const code = Object.hasOwn(CODE_OPTIONS, name) ? CODE_OPTIONS[name] : undefined
  if (code !== undefined) return { code: codeIn(args, code) }
  return wrapped(name, args) ?? interpreted(plain, args) ?? RUNS_NOTHING
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
  const remote = readOptions(args, SSH_OPTIONS).operands.slice(1) ?? []
  return { ...elsewhere(args), ...(remote.length > 0 ? { code: [asText(remote)] } : {}) }
}

function valuesOf(args: readonly ShellWord[], option: RegExp): ShellWord[] {
  const values: ShellWord[] = []
  args.forEach((word, at) => {
    const [name = '', attached] = halves(word.start)
    const next = args[at + 1]
    if (!option.test(name)) return
    else if (attached !== undefined) values.push(word.value === undefined ? word : knownWord(attached))
    else if (next !== undefined) values.push(next)
  })
  return values
}

function halves(text: string): string[] {
  const equals = text.startsWith('--') ? text.indexOf('=') : -1
  return equals === -1 ? [text] : [text.slice(0, equals), text.slice(equals + 1)]
}

function trap(args: readonly ShellWord[]): ShellRuns {
  const [first, ...signals] = args[0]?.value === '--' ? args.slice(1) : args
  if (first === undefined || signals.length === 0 || first.value === '-' || /^-[lp]/.test(first.start)) {
    return RUNS_NOTHING
  }
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
  const marks = ['-I', '-i', '--replace', '-J'].flatMap(option => valuesOf(splitShort(args), new RegExp(`^${option}$`)))
  const mark = marks[0]?.value ?? '{}'
  const commands = (runs.commands ?? []).filter(words => words.length > 0)
  return { ...runs, commands: commands.map(words => [...words.map(word => filled(word, mark)), unknownWord()]) }
}

/** `-I%` -> `-I %`. */
function splitShort(args: readonly ShellWord[]): ShellWord[] {
  return args.flatMap(word => {
    const found = /^(-[IiJ])(.+)$/s.exec(word.value ?? '')
    return found === null ? [word] : [knownWord(found[1] ?? ''), knownWord(found[2] ?? '')]
  })
}

function parallel(args: readonly ShellWord[]): ShellRuns {
  const end = args.findIndex(word => /^:{3,4}\+?$/.test(word.value ?? ''))
  const read = readOptions(end === -1 ? args : args.slice(0, end), {
    short: 'kj:P:I:n:N:L:S:C:d:a:0qmXuvt',
    long: 'keep-order jobs= max-procs= halt= bar progress eta joblog= dry-run tag line-buffer ungroup will-cite no-notice null colsep= delimiter= arg-file= quote timeout= retries= results= max-args= resume verbose',
  })
  if (read.operands.length === 0) return doubtful('a shell or an interpreter reads what to run')
  const doubt = read.options.has('S') ? 'it runs somewhere else' : unsure(read)
  return { code: [asText([...read.operands, knownWord('"$@"')])], doubt }
}

function byUser(args: readonly ShellWord[]): ShellRuns {
  const code = valuesOf(args, /^(?:-[a-zA-Z]*c|--command|--session-command)$/)
  if (code.length > 0) return { code }
  const at = args.findIndex(word => /^(?:-u|--user)$/.test(word.value ?? ''))
  const rest = args.slice(at + 2)
  if (at === -1 || rest.length === 0) return doubtful('a shell or an interpreter reads what to run')
  return { commands: [rest[0]?.value === '--' ? rest.slice(1) : rest] }
}

import { quotedWord } from '../tool-call.ts'
import { type CodeOptions, codeIn, mayBeOption, type OptionSpec, readOptions } from './shell-options.ts'
import type { ShellRuns, ShellWord } from './shell-words.ts'
import { asText, doubtful, knownWord, optionDoubt, RUNS_NOTHING, rowsByName } from './shell-words.ts'

/**
 * `skip`: the number of operands in front of the command. Names of options: with `idle` ones it runs nothing, the value of
 * `code` ones is shell text, and `shell` ones pass the command to a shell.
 */
interface Wrapper extends OptionSpec {
  readonly skip?: number
  readonly assigns?: true
  readonly idle?: string
  readonly code?: string
  readonly shell?: string
  readonly isText?: true
  readonly folder?: string
  readonly isShell?: true
}

export const XARGS: Wrapper = {
  short: '0prtxoa:d:E:I:J:L:n:P:R:S:s:e::i::l::',
  long: 'null arg-file= delimiter= eof=? replace=? max-lines=? max-args= interactive max-procs= max-chars= open-tty no-run-if-empty verbose exit show-limits process-slot-var=',
}

const ENV: Wrapper = {
  short: 'i0vu:C:S:',
  long: 'ignore-environment null unset= chdir= split-string= block-signal=? default-signal=? ignore-signal=? debug',
  assigns: true,
  folder: 'C chdir',
  code: 'S split-string',
  last: 'S split-string',
}

const WRAPPERS = rowsByName<Wrapper>({
  '- builtin nocorrect noglob nohup toybox': { short: '' },
  bunx: { short: '', long: 'bun silent verbose package=' },
  busybox: { short: '', long: 'help list list-full install', idle: 'help list list-full install' },
  caffeinate: { short: 'disumt:w:' },
  chronic: { short: 'ev' },
  chroot: { short: '', long: 'groups= userspec= skip-chdir', skip: 1, isShell: true },
  chrt: { short: 'abdfiomrRvpT:P:D:', skip: 1, idle: 'p m' },
  command: { short: 'pvV', idle: 'v V' },
  doas: { short: 'Lnsu:C:a:', shell: 's', isShell: true },
  'env genv': ENV,
  exec: { short: 'cla:' },
  fakeroot: { short: 'vhul:s:i:b:', long: 'lib= faked= unknown-is-real', isShell: true },
  flock: {
    short: 'sxeuonw:E:Fvc:',
    long: 'shared exclusive unlock nonblock nb no-fork timeout= wait= conflict-exit-code= close verbose command=',
    skip: 1,
    code: 'c command',
  },
  ionice: { short: 'c:n:tp:P:u:', long: 'class= classdata= pid= pgid= uid= ignore', idle: 'p P u pid pgid uid' },
  jobs: { short: 'lnprsx' },
  ltrace: { short: 'cfhiLrStTVo:e:s:u:p:n:a:A:D:F:l:x:', idle: 'p h V' },
  'nice gnice': { short: 'n:0123456789', long: 'adjustment=' },
  npx: { short: 'yqp:c:', long: 'yes no quiet package= call= workspaces workspace= no-install', code: 'c call' },
  pkexec: { short: '', long: 'user= disable-internal-agent keep-cwd', isShell: true },
  repeat: { short: '', skip: 1 },
  script: {
    short: 'aefqc:t:T:I:O:B:E:m:o:',
    long: 'append command= return flush force quiet timing= log-in= log-out= log-io=',
    code: 'c command',
    skip: 1,
    isShell: true,
  },
  setarch: { short: 'BFILRSTXZ3v', skip: 1, isShell: true },
  setsid: { short: 'cfwhV', long: 'ctty fork wait help version' },
  stdbuf: { short: 'i:o:e:', long: 'input= output= error=' },
  strace: {
    short: 'cCdfFhiknqrtTvVwxyYzZo:e:s:p:u:E:a:b:I:O:S:P:',
    idle: 'p h V',
    long: 'trace= output= follow-forks',
  },
  sudo: {
    short: 'ABbEeHiKklNnPSsVvp:u:g:C:D:R:r:t:T:U:h',
    long: 'askpass background bell close-from= chdir= preserve-env=? edit group= set-home help host= login remove-timestamp reset-timestamp list non-interactive preserve-groups prompt= chroot= role= stdin shell type= command-timeout= other-user= user= version validate no-update',
    assigns: true,
    folder: 'D chdir R chroot',
    idle: 'e edit K remove-timestamp l list V version v validate help',
    shell: 's shell i login',
  },
  'systemd-run': {
    short: 'dGPqrStuEp:H:M:',
    long: 'scope user system pty pipe quiet wait collect no-block no-ask-password remain-after-exit same-dir slice-inherit shell unit= property= slice= description= uid= gid= nice= setenv= working-directory= host= machine= on-active= on-boot= on-calendar= service-type=',
    folder: 'working-directory host machine H M d',
    isShell: true,
  },
  taskset: { short: 'apc', long: 'all-tasks pid cpu-list', skip: 1, idle: 'p pid' },
  time: { short: 'apvqhVf:o:', long: 'append portability verbose quiet help version format= output=' },
  'timeout gtimeout': { short: 'fk:ps:v', long: 'foreground kill-after= preserve-status signal= verbose', skip: 1 },
  unbuffer: { short: 'p' },
  unshare: {
    short: 'muinpUTCfrchV',
    long: 'mount=? uts=? ipc=? net=? pid=? user=? time=? cgroup=? fork map-root-user map-current-user mount-proc=? keep-caps',
    isShell: true,
  },
  uvx: { short: 'qvp:', long: 'from= with= python= quiet verbose isolated offline' },
  valgrind: { short: 'qv', long: 'tool= leak-check= error-exitcode= quiet verbose log-file= track-origins=' },
  watch: {
    short: 'bcCdegptwxn:q:',
    long: 'beep color no-color differences=? errexit chgexit equexit= interval= precise no-rerun no-title no-wrap exec',
    isText: true,
  },
  'xargs gxargs': XARGS,
  'xvfb-run': { short: 'ae:f:hln:p:s:w:', long: 'auto-servernum error-file= server-args= server-num=' },
})

/** `env` and `sudo` accept any name, even one that no shell could set. */
const ASSIGNMENT = /^[^=]+=/

export function wrapped(name: string, args: readonly ShellWord[]): ShellRuns | undefined {
  const wrapper = WRAPPERS.get(name)
  if (wrapper === undefined) return undefined
  const read = readOptions(args, wrapper)
  const has = (names = ''): boolean => names.split(' ').some(each => read.options.has(each))
  if (has(wrapper.idle)) return RUNS_NOTHING
  const skipped = read.operands.slice(0, wrapper.skip ?? 0)
  const isSure = read.isSure && skipped.every(word => word.value !== undefined)
  const doubt = has(wrapper.folder) ? 'the working directory is changed by an option' : optionDoubt({ isSure })
  const code = (wrapper.code ?? '').split(' ').flatMap(each => read.options.get(each) ?? [])
  const operands = read.operands.slice(skipped.length)
  if (operands.length === 0 && code.length === 0)
    return wrapper.isShell || has(wrapper.shell) ? doubtful('a shell or an interpreter reads what to run') : { doubt }
  if (wrapper === ENV && code.length > 0) return splitByEnv(code, operands, doubt)
  if (has(wrapper.shell) || (wrapper.isText && !has('x exec'))) return { code: [...code, asText(operands)], doubt }
  return { code, commands: [operands.slice(wrapper.assigns ? assignmentsOf(operands).length : 0)], doubt }
}

const PLAIN_NAME = /^\s*[\w./][\w./+-]*(?:\s|$)/
const QUOTED = /'[^']*'|"[^"]*"/g
/**
 * Characters that a shell reads differently from `env`: `\_` is a blank to `env`, `\c` the end, and `;` or `>` are plain words.
 */
const OTHERWISE = /\\|[<>|&;()\n`]/

/** The text of `env -S` continues in its operands, and may start with options and variables of `env`. */
function splitByEnv(code: readonly ShellWord[], operands: readonly ShellWord[], doubt: ShellRuns['doubt']): ShellRuns {
  const quoted = operands.map(word => (word.value === undefined ? word : knownWord(quotedWord(word.value))))
  const text = asText([...code, ...quoted])
  const isOtherwise = code.some(({ start }) => start.includes('\\') || OTHERWISE.test(start.replace(QUOTED, '')))
  const prefix = PLAIN_NAME.test(text.start) ? '' : 'env '
  const value = text.value === undefined ? undefined : `${prefix}${text.value}`
  const read = { value, start: `${prefix}${text.start}` }
  return { code: [read], doubt: isOtherwise ? 'code is made while it runs' : doubt }
}

function assignmentsOf(words: readonly ShellWord[]): readonly ShellWord[] {
  const end = words.findIndex(word => word.value !== '-' && !ASSIGNMENT.test(word.start))
  return words.slice(0, end === -1 ? undefined : end)
}

export function variablesOf(name: string, args: readonly ShellWord[]): readonly ShellWord[] {
  const wrapper = WRAPPERS.get(name)
  if (wrapper?.assigns !== true) return []
  return assignmentsOf(readOptions(args, wrapper).operands)
}

interface Manager {
  readonly runs: RegExp
  /** The options in front of the subcommand: those with a value, and the others. */
  readonly valued: RegExp
  readonly flags: RegExp
  /** The words in front of the subcommand, with the number of their operands: `yarn workspace NAME exec`. */
  readonly skips?: Readonly<Record<string, number>>
  readonly call?: CodeOptions
}

/** Flags of all managers, and those of one. */
function flags(short: string, long: string): RegExp {
  return new RegExp(`^(?:${short}|--(?:(?:no-)?color|no-ansi|ansi|quiet|silent|verbose|version|help|${long}))$`)
}

const MANAGERS = rowsByName<Manager>({
  npm: {
    runs: /^(?:exec|exe|x)$/,
    call: { short: 'c', long: 'call' },
    valued:
      /^(?:-[CLcmw]|--(?:prefix|workspace|registry|loglevel|userconfig|globalconfig|cache|tag|otp|scope|omit|include|location|node-options|script-shell|call|package|before|access|depth|fetch-retries|fetch-timeout|maxsockets|proxy|https-proxy))$/,
    flags: flags(
      '-[aBDEOPSdfghlnpqsvy]+|-ws',
      'no-[\\w-]+|global|force|json|long|parseable|yes|workspaces|include-workspace-root|if-present|ignore-scripts|offline|prefer-offline|prefer-online|legacy-peer-deps|strict-peer-deps|foreground-scripts|dry-run|production|save|save-dev|save-exact|fund|audit|progress|package-lock|package-lock-only|engine-strict',
    ),
  },
  pnpm: {
    runs: /^(?:exec|dlx)$/,
    valued:
      /^(?:-[CF]|--(?:dir|filter|filter-prod|workspace-concurrency|reporter|registry|loglevel|store-dir|virtual-store-dir|modules-dir|lockfile-dir|changed-files-ignore-pattern|test-pattern|resume-from|network-concurrency))$/,
    flags: flags(
      '-[rswDPghv]+',
      'no-[\\w-]+|recursive|workspace-root|include-workspace-root|stream|aggregate-output|parallel|sequential|if-present|bail|sort|reverse|prod|dev|offline|prefer-offline|use-stderr|fail-if-no-match|ignore-scripts|ignore-workspace|frozen-lockfile|global|yes|json',
    ),
  },
  yarn: {
    runs: /^(?:exec|dlx)$/,
    skips: { workspace: 1 },
    valued: /^--(?:cwd|mutex|cache-folder|modules-folder|registry|network-timeout|use-yarnrc|prefix|global-folder)$/,
    flags: flags(
      '-[sv]',
      'no-[\\w-]+|offline|prefer-offline|json|frozen-lockfile|pure-lockfile|non-interactive|prod|production|force|flat|ignore-scripts|ignore-engines|ignore-optional',
    ),
  },
  bun: {
    runs: /^x$/,
    valued: /^(?:-[cr]|--(?:cwd|config|env-file|preload))$/,
    flags: flags('-b', 'bun|hot|watch|smol'),
  },
  uv: {
    runs: /^run$/,
    skips: { tool: 0 },
    valued: /^--(?:directory|project|config-file|cache-dir|color|python-preference|allow-insecure-host)$/,
    flags: flags('-[qvnhV]+', 'no-[\\w-]+|offline|native-tls|system-certs|managed-python|preview'),
  },
  poetry: {
    runs: /^run$/,
    valued: /^(?:-[CP]|--(?:directory|project))$/,
    flags: flags('-[qnvVh]+', 'no-interaction|no-plugins|no-cache'),
  },
  pipenv: { runs: /^run$/, valued: /^--(?:pypi-mirror|python)$/, flags: flags('-[qvh]', 'bare|clear|site-packages') },
  hatch: {
    runs: /^run$/,
    valued: /^(?:-[ep]|--(?:env|project|data-dir|cache-dir|config))$/,
    flags: flags('-[vq]+', 'interactive|no-interactive'),
  },
  bundle: { runs: /^exec$/, valued: /^(?:-r|--retry)$/, flags: flags('-V', 'version') },
  pipx: { runs: /^run$/, valued: /^$/, flags: flags('-[qv]+', 'global') },
})

const OPTIONS_AFTER_SUBCOMMAND = {
  short: 'yqvsc:p:',
  long: 'yes quiet verbose silent call= package= with= from= python= no-sync frozen isolated',
}

export function byPackageManager(name: string, args: readonly ShellWord[]): ShellRuns | undefined {
  const manager = MANAGERS.get(name)
  return manager && runBy(manager, args)
}

function runBy(manager: Manager, args: readonly ShellWord[]): ShellRuns {
  const { at, isSure } = subcommandIn(args, manager)
  const found = isSure ? at : args.findIndex(word => manager.runs.test(word.value ?? ''))
  const word = args[found]
  const skipped = isSure ? manager.skips?.[word?.value ?? ''] : undefined
  if (skipped !== undefined) return runBy(manager, args.slice(found + 1 + skipped))
  // Without such a word nothing runs, however the options are read.
  if (word === undefined) return args.some(mayBeOption) && !isSure ? { doubt: optionDoubt({ isSure }) } : RUNS_NOTHING
  if (word.value !== undefined && !manager.runs.test(word.value)) return RUNS_NOTHING
  const read = readOptions(args.slice(found + 1), OPTIONS_AFTER_SUBCOMMAND)
  const before = manager.call === undefined ? [] : codeIn(args.slice(0, found), manager.call)
  const code = [...before, ...['c', 'call'].flatMap(each => read.options.get(each) ?? [])]
  return {
    commands: [read.operands],
    code,
    doubt: optionDoubt({ isSure: isSure && read.isSure && word.value !== undefined }),
  }
}

/** npm treats these as the value of a preceding flag. */
const VALUE_OF_FLAG = /^(?:true|false|null|always)$/

function subcommandIn(args: readonly ShellWord[], { valued, flags }: Manager): { at: number; isSure: boolean } {
  let isSure = true
  let at = 0
  for (; at < args.length; at++) {
    const { value } = args[at] as ShellWord
    if (VALUE_OF_FLAG.test(value ?? '')) continue
    if (value === undefined || !value.startsWith('-')) break
    // Managers disagree whether a word like an option is a value.
    if (valued.test(value)) isSure &&= args[++at]?.value?.startsWith('-') === false
    else if (!/^--[\w.-]+=/.test(value)) isSure &&= flags.test(value)
  }
  return { at, isSure }
}

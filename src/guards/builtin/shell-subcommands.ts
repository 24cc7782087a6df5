import { type CodeOptions, codeIn } from './shell-code-options.ts'
import { mayBeOption, readOptions } from './shell-options.ts'
import { RUNS_NOTHING, type ShellRuns, unsure } from './shell-runs.ts'
import type { ShellWord } from './shell-words.ts'

/** Package managers with a subcommand that runs the words after it. */

/** The options in front of the subcommand. */
interface Front {
  /** Options whose value is the next word. */
  readonly valued: RegExp
  readonly flags: RegExp
}

interface Manager extends Front {
  readonly runs: RegExp
  /** The words in front of the subcommand, with the number of their operands: `yarn workspace NAME exec`. */
  readonly skips?: Readonly<Record<string, number>>
  /** Options in front whose value is shell text. */
  readonly call?: CodeOptions
}

const COLOR = '(?:no-)?color|no-ansi|ansi|quiet|silent|verbose|version|help'

const NPM: Front = {
  valued:
    /^(?:-[CLcmw]|--(?:prefix|workspace|registry|loglevel|userconfig|globalconfig|cache|tag|otp|scope|omit|include|location|node-options|script-shell|call|package|before|access|depth|fetch-retries|fetch-timeout|maxsockets|proxy|https-proxy))$/,
  flags: new RegExp(
    `^(?:-[aBDEOPSdfghlnpqsvy]+|-ws|--(?:${COLOR}|no-[\\w-]+|global|force|json|long|parseable|yes|workspaces|include-workspace-root|if-present|ignore-scripts|offline|prefer-offline|prefer-online|legacy-peer-deps|strict-peer-deps|foreground-scripts|dry-run|production|save|save-dev|save-exact|fund|audit|progress|package-lock|package-lock-only|engine-strict))$`,
  ),
}

const PNPM: Front = {
  valued:
    /^(?:-[CF]|--(?:dir|filter|filter-prod|workspace-concurrency|reporter|registry|loglevel|store-dir|virtual-store-dir|modules-dir|lockfile-dir|changed-files-ignore-pattern|test-pattern|resume-from|network-concurrency))$/,
  flags: new RegExp(
    `^(?:-[rswDPghv]+|--(?:${COLOR}|no-[\\w-]+|recursive|workspace-root|include-workspace-root|stream|aggregate-output|parallel|sequential|if-present|bail|sort|reverse|prod|dev|offline|prefer-offline|use-stderr|fail-if-no-match|ignore-scripts|ignore-workspace|frozen-lockfile|global|yes|json))$`,
  ),
}

const YARN: Front = {
  valued: /^--(?:cwd|mutex|cache-folder|modules-folder|registry|network-timeout|use-yarnrc|prefix|global-folder)$/,
  flags: new RegExp(
    `^(?:-[sv]|--(?:${COLOR}|no-[\\w-]+|offline|prefer-offline|json|frozen-lockfile|pure-lockfile|non-interactive|prod|production|force|flat|ignore-scripts|ignore-engines|ignore-optional))$`,
  ),
}

const UV: Front = {
  valued: /^--(?:directory|project|config-file|cache-dir|color|python-preference|allow-insecure-host)$/,
  flags: new RegExp(`^(?:-[qvnhV]+|--(?:${COLOR}|no-[\\w-]+|offline|native-tls|system-certs|managed-python|preview))$`),
}

const BUN: Front = {
  valued: /^(?:-[cr]|--(?:cwd|config|env-file|preload))$/,
  flags: new RegExp(`^(?:-b|--(?:${COLOR}|bun|hot|watch|smol))$`),
}

const POETRY: Front = {
  valued: /^(?:-[CP]|--(?:directory|project))$/,
  flags: new RegExp(`^(?:-[qnvVh]+|--(?:${COLOR}|no-interaction|no-plugins|no-cache))$`),
}

const HATCH: Front = {
  valued: /^(?:-[ep]|--(?:env|project|data-dir|cache-dir|config))$/,
  flags: new RegExp(`^(?:-[vq]+|--(?:${COLOR}|interactive|no-interactive))$`),
}

const PIPENV: Front = {
  valued: /^--(?:pypi-mirror|python)$/,
  flags: new RegExp(`^(?:-[qvh]|--(?:${COLOR}|bare|clear|site-packages))$`),
}

const BUNDLE: Front = {
  valued: /^(?:-r|--retry)$/,
  flags: new RegExp(`^(?:-V|--(?:${COLOR}))$`),
}

const PIPX: Front = { valued: /^$/, flags: new RegExp(`^(?:-[qv]+|--(?:${COLOR}|global))$`) }

const MANAGERS: Readonly<Record<string, Manager>> = {
  npm: { ...NPM, runs: /^(?:exec|exe|x)$/, call: { short: 'c', long: 'call' } },
  pnpm: { ...PNPM, runs: /^(?:exec|dlx)$/ },
  yarn: { ...YARN, runs: /^(?:exec|dlx)$/, skips: { workspace: 1 } },
  bun: { ...BUN, runs: /^x$/ },
  uv: { ...UV, runs: /^run$/, skips: { tool: 0 } },
  poetry: { ...POETRY, runs: /^run$/ },
  pipenv: { ...PIPENV, runs: /^run$/ },
  hatch: { ...HATCH, runs: /^run$/ },
  bundle: { ...BUNDLE, runs: /^exec$/ },
  pipx: { ...PIPX, runs: /^run$/ },
}

const BEHIND = {
  short: 'yqvsc:p:',
  long: 'yes quiet verbose silent call= package= with= from= python= no-sync frozen isolated',
}

/** Handles `npm --prefix a exec -- rimraf x`. Undefined for another program. `name` is lower case. */
export function bySubcommand(name: string, args: readonly ShellWord[]): ShellRuns | undefined {
  const manager = Object.hasOwn(MANAGERS, name) ? MANAGERS[name] : undefined
  return manager === undefined ? undefined : runBy(manager, args)
}

function runBy(manager: Manager, args: readonly ShellWord[]): ShellRuns {
  const { at, isSure } = subcommandIn(args, manager)
  const found = isSure ? at : args.findIndex(word => manager.runs.test(word.value ?? ''))
  const word = args[found]
  const skipped = isSure ? manager.skips?.[word?.value ?? ''] : undefined
  if (skipped !== undefined) return runBy(manager, args.slice(found + 1 + skipped))
  // Without such a word nothing runs, however the options are read.
  if (word === undefined) return args.some(mayBeOption) && !isSure ? { doubt: unsure({ isSure }) } : RUNS_NOTHING
  if (word.value !== undefined && !manager.runs.test(word.value)) return RUNS_NOTHING
  const read = readOptions(args.slice(found + 1), BEHIND)
  const before = manager.call === undefined ? [] : codeIn(args.slice(0, found), manager.call)
  const code = [...before, ...['c', 'call'].flatMap(each => read.options.get(each) ?? [])]
  return {
    commands: [read.operands],
    code,
    doubt: unsure({ isSure: isSure && read.isSure && word.value !== undefined }),
  }
}

/** npm treats these as the value of a preceding flag. */
const VALUE_OF_FLAG = /^(?:true|false|null|always)$/

/** Finds the first word that is neither an option nor a value. It is sure only if every option in front is known. */
function subcommandIn(args: readonly ShellWord[], { valued, flags }: Front): { at: number; isSure: boolean } {
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

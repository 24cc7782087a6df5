import { type CodeOptions, codeIn } from './shell-code-options.ts'
import { readOptions } from './shell-options.ts'
import { asText, doubtful, RUNS_NOTHING, type ShellRuns, unsure } from './shell-runs.ts'
import type { ShellWord } from './shell-words.ts'

/** The ways in which git runs commands from its arguments. Files of git (hooks, aliases, attributes) are not inspected. */

const OPTIONS = {
  short: 'vhpPC:c:',
  long: 'version help paginate no-pager exec-path=? html-path man-path info-path git-dir= work-tree= namespace= bare config-env= no-replace-objects no-lazy-fetch no-optional-locks no-advice literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs attr-source= super-prefix= list-cmds=',
}

/** Suffixes of configuration keys whose value is a command. */
const NAMES_COMMAND =
  /^alias\.|(?:command|pager|editor|program|helper|cmd|hookspath|fsmonitor|textconv|process|clean|smudge|askpass|browser|driver|external|proxy|uploadpack|receivepack|path|tool|man\.viewer)$/i
const HARMLESS = /^(?:|cat|true|false|less|0|1)$/

export function byGit(args: readonly ShellWord[]): ShellRuns {
  const read = readOptions(args, OPTIONS)
  const { options, operands } = read
  if (options.has('config-env') || (options.get('exec-path') ?? []).length > 0 || (options.get('c') ?? []).some(sets)) {
    return doubtful('a setting of git names a command')
  }
  const [subcommand, ...rest] = operands
  if (subcommand === undefined) return RUNS_NOTHING
  if (subcommand.value === undefined) return doubtful('the name of a command comes from an expansion')
  return { doubt: unsure(read), code: codeOf(subcommand.value, rest), ...bySubcommand(subcommand.value, rest) }
}

/** True if `key=value` may set a command. */
function sets(word: ShellWord): boolean {
  const equals = word.start.indexOf('=')
  if (equals === -1) return word.value === undefined || NAMES_COMMAND.test(word.value)
  const key = word.start.slice(0, equals)
  return NAMES_COMMAND.test(key) && !HARMLESS.test(word.value?.slice(equals + 1) ?? 'unknown')
}

function bySubcommand(subcommand: string, args: readonly ShellWord[]): ShellRuns {
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
      return settings(args)
    default:
      return RUNS_NOTHING
  }
}

const READS = /^(?:get|list|unset|--get.*|--list|-l|--unset.*|--remove-section)$/

function settings(args: readonly ShellWord[]): ShellRuns {
  if (args.some(word => READS.test(word.start))) return RUNS_NOTHING
  const at = args.findIndex(word => word.value === undefined || NAMES_COMMAND.test(word.value))
  const value = args[at + 1]
  if (at === -1 || (value === undefined && args[at]?.value !== undefined)) return RUNS_NOTHING
  return HARMLESS.test(value?.value ?? 'unknown') ? RUNS_NOTHING : doubtful('a setting of git names a command')
}

/** Options of subcommands whose value is passed to a shell. */
const CODE_OPTIONS: Readonly<Record<string, CodeOptions>> = {
  rebase: { short: 'x', valued: 'sXCS', long: 'exec' },
  difftool: { short: 'x', valued: 'tSGOU', long: 'extcmd' },
  grep: { short: 'O?', valued: 'efABCm', long: 'open-files-in-pager?' },
  fetch: { long: 'upload-pack' },
  clone: { short: 'u', valued: 'obcj', long: 'upload-pack' },
  push: { long: 'receive-pack exec' },
  'ls-remote': { long: 'upload-pack exec' },
  pull: { long: 'upload-pack' },
  archive: { long: 'exec' },
}

function codeOf(subcommand: string, args: readonly ShellWord[]): ShellWord[] {
  const options = Object.hasOwn(CODE_OPTIONS, subcommand) ? CODE_OPTIONS[subcommand] : undefined
  return options === undefined ? [] : codeIn(args, options)
}

import { isAbsolute, resolve } from 'node:path'
import { elementsOf, firstText, idOf, isArray, peek, textOf } from '../contract/foreign.ts'

export const TOOL_KINDS = ['shell', 'read', 'edit', 'write', 'search', 'fetch', 'agent', 'mcp', 'other'] as const

/** The kind of a tool, independent of the agent. `other` if unknown. */
export type ToolKind = (typeof TOOL_KINDS)[number]

/** A frozen tool call, the input of a hook. */
export interface ToolCall {
  /** The agent's name of the tool. */
  readonly name: string
  /** The kind of the tool. */
  readonly kind: ToolKind
  /** The arguments, as sent by the model or rewritten by an earlier hook. */
  readonly arguments: ToolArguments
  /** The command of a shell. If several arguments hold one, they are joined by line breaks. */
  readonly command: string | undefined
  /** Files and folders named by the arguments, unresolved. */
  readonly paths: readonly string[]
  /** The URL of a tool that fetches. */
  readonly url: string | undefined
  /** The working folder of the tool, from the agent or from the arguments. The tool may ignore the latter. */
  readonly cwd: string | undefined
  /** The working folder of the agent, if it reports it. */
  readonly agentCwd?: string | undefined
  /** The agent's id of this call. */
  readonly id: string | undefined
}

/** The arguments of a tool, by name. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** A tool call as reported by the agent. */
export interface RawToolCall extends Pick<ToolCall, 'name' | 'arguments'>, Partial<Pick<ToolCall, 'id'>> {
  /** The working folder of the agent. */
  readonly cwd?: string | undefined
}

const KINDS: ReadonlyMap<string, ToolKind> = new Map(
  Object.entries({
    shell:
      'bash shell exec exec_command terminal run_shell_command run_command run_terminal_cmd local_shell write_stdin execute powershell cmd',
    read: 'read read_file view cat open_file read_many_files notebook_read',
    edit: 'edit edit_file multiedit multi_edit str_replace str_replace_based_edit_tool replace apply_patch patch notebookedit notebook_edit',
    write: 'write write_file create create_file',
    search: 'grep glob find ls list search list_directory search_files grep_search search_file_content codebase_search',
    fetch: 'webfetch web_fetch fetch websearch web_search browser_navigate http_request google_web_search',
    agent: 'task agent spawn_agent delegate_task subagent',
  }).flatMap(([kind, names]) => names.split(' ').map(name => [name, kind as ToolKind] as const)),
)
/** `chars` is typed into a running shell. */
const COMMANDS = ['command', 'cmd', 'script', 'chars']
const PATHS = 'path file_path filePath filename file absolute_path notebook_path dir_path directory'.split(' ')
const PATH_LISTS = ['paths', 'files', 'file_paths']
const URLS = ['url', 'uri']
const PATCHES = ['patch', 'patch_text', 'patchText', 'input', 'command']
const FOLDERS = ['cwd', 'workdir', 'dir_path', 'directory']
const PATCHED =
  /^(?:[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to):|(?:---|\+\+\+) (?:[ab]\/)?)[ \t]*(\S[^\t\r\n]*)/gm

/** Normalizes a tool call: a shell is `bash`, `Bash`, `exec`, … and its command `command` or `cmd`. Never throws. */
export function toolCallOf({ name, arguments: given, id, cwd }: RawToolCall): ToolCall {
  const args: ToolArguments = typeof given === 'object' && given !== null ? given : {}
  const kind = kindOf(name)
  const commands = kind === 'shell' ? commandsIn(args) : []
  return {
    name,
    kind,
    arguments: args,
    command: commands.length === 0 ? undefined : commands.join('\n'),
    paths: pathsOf(kind, args),
    url: firstText(args, URLS),
    cwd: kind === 'shell' ? workingFolder(args, cwd) : cwd,
    agentCwd: cwd,
    id,
  }
}

function kindOf(name: unknown): ToolKind {
  if (typeof name !== 'string') return 'other'
  return KINDS.get(name.toLowerCase()) ?? (/^mcp__|^mcp[_:.]/i.test(name) ? 'mcp' : 'other')
}

/**
 * Every argument that may hold the command. The model cannot choose which one a tool reads, so all count. Each element
 * of an argv list is one quoted word.
 */
export function commandsIn(args: ToolArguments): readonly string[] {
  const commands = COMMANDS.flatMap(key => {
    const value = peek(args, key)
    if (typeof value === 'string') return [value]
    const words = elementsOf(value, Number.POSITIVE_INFINITY)
    const texts = words.map(word => quotedWord(typeof word === 'string' ? word : `${idOf(word) ?? ''}`))
    return isArray(value) ? [texts.join(' ')] : []
  })
  return [...new Set(commands)]
}

function workingFolder(args: ToolArguments, cwd: string | undefined): string | undefined {
  const [named] = foldersIn(args)
  if (named === undefined) return cwd
  // Agents resolve it against their own folder; `~` and variables are left to the shell.
  return cwd !== undefined && isAbsolute(cwd) && !/^[~$]/.test(named) ? resolve(cwd, named) : named
}

export function foldersIn(args: ToolArguments): readonly string[] {
  return [...new Set(FOLDERS.flatMap(key => textOf(peek(args, key)) ?? []))]
}

export function quotedWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function pathsOf(kind: ToolKind, args: ToolArguments): readonly string[] {
  const textsAt = (keys: readonly string[]): string[] => keys.flatMap(key => textOf(peek(args, key)) ?? [])
  const listed = PATH_LISTS.flatMap(key => elementsOf(peek(args, key), Number.POSITIVE_INFINITY))
  const patched = (kind === 'edit' ? textsAt(PATCHES) : [])
    .flatMap(patch => [...patch.matchAll(PATCHED)].map(([, path = '']) => path))
    .filter(path => path !== '/dev/null')
  return [
    ...new Set([
      ...textsAt(PATHS),
      ...listed.flatMap(each => textOf(each) ?? textOf(peek(each, 'path')) ?? []),
      ...patched.map(path => path.trim()),
    ]),
  ]
}

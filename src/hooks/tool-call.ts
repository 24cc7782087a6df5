import { peek, textOf } from '../contract/foreign.ts'

/** What a tool does, whichever agent it belongs to. `other`: nobody could tell. */
export type ToolKind = 'shell' | 'read' | 'edit' | 'write' | 'search' | 'fetch' | 'agent' | 'mcp' | 'other'

/** A call of a tool, as a hook sees it: frozen. */
export interface ToolCall {
  /** As the agent calls it. */
  readonly name: string
  readonly kind: ToolKind
  /** As the model has them, or a hook before has rewritten them. */
  readonly arguments: ToolArguments
  /** Of a shell, as one text. */
  readonly command: string | undefined
  /** Files and folders that the arguments name, as they name them. */
  readonly paths: readonly string[]
  readonly url: string | undefined
  /** Folder in which the tool works, where the agent tells it. */
  readonly cwd: string | undefined
  /** The agent's id of this call. */
  readonly id: string | undefined
}

export type ToolArguments = Readonly<Record<string, unknown>>

export interface RawToolCall {
  readonly name: string
  readonly arguments: ToolArguments
  readonly id?: string | undefined
  readonly cwd?: string | undefined
}

const KINDS: ReadonlyMap<string, ToolKind> = new Map(
  Object.entries({
    shell:
      'bash shell exec exec_command terminal run_shell_command run_command run_terminal_cmd local_shell execute powershell cmd',
    read: 'read read_file view cat open_file read_many_files notebook_read',
    edit: 'edit edit_file multiedit multi_edit str_replace str_replace_based_edit_tool replace apply_patch patch notebookedit notebook_edit',
    write: 'write write_file create create_file',
    search: 'grep glob find ls list search list_directory search_files grep_search search_file_content codebase_search',
    fetch: 'webfetch web_fetch fetch websearch web_search browser_navigate http_request google_web_search',
    agent: 'task agent spawn_agent delegate_task subagent',
  }).flatMap(([kind, names]) => names.split(' ').map(name => [name, kind as ToolKind] as const)),
)
const COMMANDS = ['command', 'cmd', 'script']
const PATHS = [
  'path',
  'file_path',
  'filePath',
  'filename',
  'file',
  'absolute_path',
  'notebook_path',
  'dir_path',
  'directory',
]
const URLS = ['url', 'uri']
const PATCHES = ['patch', 'patch_text', 'patchText', 'input', 'command']
const PATCHED =
  /^(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|(?:---|\+\+\+) (?:[ab]\/)?)[ \t]*(\S[^\t\r\n]*)/gm
const LISTS_LIMIT = 200

/** Says in one language what agents say in many: a shell is `bash`, `Bash`, `exec`, …, and its text `command` or `cmd`. */
export function toolCallOf({ name, arguments: args, id, cwd }: RawToolCall): ToolCall {
  const kind = kindOf(name)
  const command = kind === 'shell' ? commandOf(args) : undefined
  const own = textOf(args['cwd']) ?? textOf(args['workdir']) ?? textOf(args['dir_path'])
  return {
    name,
    kind,
    arguments: args,
    command,
    paths: pathsOf(kind, args),
    url: firstText(args, URLS),
    cwd: kind === 'shell' ? (own ?? cwd) : cwd,
    id,
  }
}

function kindOf(name: string): ToolKind {
  const known = KINDS.get(name.toLowerCase())
  if (known !== undefined) return known
  return /^mcp__|^mcp[_:.]/i.test(name) ? 'mcp' : 'other'
}

function commandOf(args: ToolArguments): string | undefined {
  for (const key of COMMANDS) {
    const value = args[key]
    if (typeof value === 'string') return value
    // A program and its arguments: each is one word, whatever is in it.
    if (Array.isArray(value)) return value.map(word => quoted(String(word))).join(' ')
  }
  return undefined
}

function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function pathsOf(kind: ToolKind, args: ToolArguments): readonly string[] {
  const found = PATHS.flatMap(key => textOf(args[key]) ?? [])
  for (const key of ['paths', 'files', 'file_paths']) {
    const list = args[key]
    if (Array.isArray(list))
      found.push(...list.slice(0, LISTS_LIMIT).flatMap(each => textOf(each) ?? textOf(peek(each, 'path')) ?? []))
  }
  const patch = kind === 'edit' ? firstText(args, PATCHES) : undefined
  if (patch !== undefined)
    for (const [, path] of patch.matchAll(PATCHED))
      if (path !== undefined && path !== '/dev/null') found.push(path.trim())
  return [...new Set(found)]
}

function firstText(args: ToolArguments, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = textOf(args[key])
    if (text !== undefined) return text
  }
  return undefined
}
